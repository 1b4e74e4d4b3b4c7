import MonotonicTime
import NMEA

/// The time as a host knows it, with how well.
public struct KnownTime: Equatable, Sendable {
  /// At an instant.
  public var utc: UTCTime
  public var at: MonotonicInstant
  /// One standard deviation.
  public var sigma: Duration

  public init(utc: UTCTime, at: MonotonicInstant, sigma: Duration) {
    self.utc = utc
    self.at = at
    self.sigma = sigma
  }

  /// At another instant, not long after.
  func utc(at now: MonotonicInstant) -> UTCTime {
    let (sum, overflows) = utc.nanosecondsSince1970.addingReportingOverflow((now - at).inNanoseconds)
    return overflows ? utc : UTCTime(nanosecondsSince1970: sum)
  }
}
