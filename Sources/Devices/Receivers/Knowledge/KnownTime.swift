import MonotonicTime
import NMEA

/// The time as a host knows it, and its accuracy.
public struct KnownTime: Equatable, Sendable {
  /// The time at the instant.
  public var utc: UTCTime
  public var at: MonotonicInstant
  /// The standard deviation.
  public var sigma: Duration

  public init(utc: UTCTime, at: MonotonicInstant, sigma: Duration) {
    self.utc = utc
    self.at = at
    self.sigma = sigma
  }

  /// The time at another instant, shortly after.
  func utc(at now: MonotonicInstant) -> UTCTime {
    let (sum, overflows) = utc.nanosecondsSince1970.addingReportingOverflow((now - at).inNanoseconds)
    return overflows ? utc : UTCTime(nanosecondsSince1970: sum)
  }
}
