import MonotonicTime
import NMEA

/// The time by the host's clock, and the accuracy of that clock.
public struct KnownTime: Equatable, Sendable {
  /// The UTC at the instant `at`.
  public var utc: UTCTime
  public var at: MonotonicInstant
  /// The standard deviation of `utc`.
  public var sigma: Duration

  public init(utc: UTCTime, at: MonotonicInstant, sigma: Duration) {
    self.utc = utc
    self.at = at
    self.sigma = sigma
  }

  /// The UTC at another instant, shortly after `at`.
  func utc(at now: MonotonicInstant) -> UTCTime {
    let (sum, overflows) = utc.nanosecondsSince1970.addingReportingOverflow((now - at).inNanoseconds)
    return overflows ? utc : UTCTime(nanosecondsSince1970: sum)
  }
}
