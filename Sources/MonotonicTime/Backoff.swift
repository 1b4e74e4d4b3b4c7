/// How long to wait before each retry in a series of failures.
///
/// ```swift
/// let backoff = Backoff(initial: .seconds(1), maximum: .seconds(60))
/// retryAt = clock.now + backoff.delay(afterFailures: failures)  // 1, 2, 4, … 60 s
/// ```
public struct Backoff: Equatable, Sendable {
  public var initial: Duration
  public var maximum: Duration
  public var factor: Double

  public init(initial: Duration, maximum: Duration, factor: Double = 2) {
    self.initial = initial
    self.maximum = maximum
    self.factor = factor
  }

  /// - Parameter failures: the number of consecutive failures, at least 1
  public func delay(afterFailures failures: Int) -> Duration {
    var delay = initial
    for _ in 1..<max(failures, 1) {
      if delay >= maximum { break }
      delay = delay * factor
    }
    return min(delay, maximum)
  }
}
