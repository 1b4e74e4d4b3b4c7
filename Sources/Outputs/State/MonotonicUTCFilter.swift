import MonotonicTime
import NMEA

/// The times of one kind of object. Each time must be later than the previous one.
struct MonotonicUTCFilter {
  /// If the receiver's clock is set back by at least this much, the earlier times are accepted. Smaller steps are
  /// jitter in the arrival of epochs.
  private static let setBackMilliseconds: Int64 = 1000

  private var lastMilliseconds: Int64?
  private var newest = MonotonicFilter()

  /// Takes a time in the precision in which it is printed. A value without a time is always accepted.
  ///
  /// - Returns: whether an object with this time may be sent
  mutating func take(_ time: UTCTime?) -> Bool {
    guard let time else { return true }
    let milliseconds = (time.nanosecondsSince1970 + 500_000) / 1_000_000
    if let last = lastMilliseconds, milliseconds <= last, last - milliseconds < MonotonicUTCFilter.setBackMilliseconds {
      return false
    }
    lastMilliseconds = milliseconds
    return true
  }

  /// Takes the time of a value that may have arrived out of order. If its instant is earlier, the value is outdated;
  /// the clock was not set back.
  mutating func take(_ time: UTCTime?, of instant: MonotonicInstant) -> Bool { newest.take(instant) && take(time) }
}
