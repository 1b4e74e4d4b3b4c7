import MonotonicTime
import NMEA

/// Filters out values that a client already has. This is needed if the client gets values from two sources, such as the
/// present value and the following ones, or one rate and then another.
struct MonotonicFilter: Equatable, Sendable {
  private var last: MonotonicInstant?

  /// Checks the instant of a value.
  ///
  /// - Returns: whether it is later than all earlier ones
  mutating func take(_ instant: MonotonicInstant) -> Bool {
    if let last, instant <= last { return false }
    last = instant
    return true
  }
}

/// Accepts an object only if its time is later than that of the previous object of the same kind.
struct MonotonicUTCFilter {
  /// A step back by at least this much means that the receiver's clock was set back, so the earlier times are accepted.
  /// Smaller steps are jitter in the arrival of epochs.
  private static let setBackMilliseconds: Int64 = 1000

  private var lastMilliseconds: Int64?
  private var newest = MonotonicFilter()

  /// Checks a time in the precision in which it is printed. A value without a time is always accepted.
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

  /// Checks the time of a value that may have arrived out of order. A value whose instant is not later than that of the
  /// previous one is outdated. It is rejected even if its time looks as if the clock was set back.
  mutating func take(_ time: UTCTime?, of instant: MonotonicInstant) -> Bool { newest.take(instant) && take(time) }
}
