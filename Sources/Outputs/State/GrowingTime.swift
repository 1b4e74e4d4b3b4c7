import MonotonicTime
import NMEA

/// The times of the objects of one class: no two alike, each later than the one before.
struct GrowingTime {
  /// A receiver's clock that is set back by at least this much is followed; less is the jitter of its epochs' arrival.
  private static let setBackMilliseconds: Int64 = 1000

  private var lastMilliseconds: Int64?
  private var newest = NewestInstant()

  /// Takes a time as it will be printed; returns whether an object may carry it. One without a time may come at any time.
  mutating func take(_ time: UTCTime?) -> Bool {
    guard let time else { return true }
    let milliseconds = (time.nanosecondsSince1970 + 500_000) / 1_000_000
    if let last = lastMilliseconds, milliseconds <= last, last - milliseconds < GrowingTime.setBackMilliseconds {
      return false
    }
    lastMilliseconds = milliseconds
    return true
  }

  /// The same for values that arrived out of order: an earlier instant is outdated, and does not mean that a clock was
  /// set back.
  mutating func take(_ time: UTCTime?, of instant: MonotonicInstant) -> Bool { newest.take(instant) && take(time) }
}
