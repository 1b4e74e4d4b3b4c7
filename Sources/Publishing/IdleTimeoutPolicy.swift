import MonotonicTime

/// Chooses the idle timeout of a source each time its last subscriber leaves, and how long the source must stay off.
///
/// The methods are called under the publisher's lock. They must return without blocking and must not call the
/// publisher.
public protocol IdleTimeoutPolicy: Sendable {
  /// A holder subscribed to a source that had no subscriber. If several subscribe together, this is the first of them.
  func firstCame(_ holder: Holder, at now: MonotonicInstant)

  /// The last subscriber left a running source. Returns how long the source keeps running.
  func lastLeft(_ holder: Holder, at now: MonotonicInstant) -> IdleTimeout

  /// The publisher asks again during the source's idle timeout (`reconsiderIdleTimeout`, `changeTiming`). Return `nil`
  /// to keep the current idle timeout.
  func reconsidered(at now: MonotonicInstant) -> IdleTimeout?

  /// Returns the instant until which a source that is about to start must stay off.
  ///
  /// - Parameter usual: the instant that follows from the timing and the end of the last run
  /// - Returns: `nil` to start immediately
  func offEnd(_ usual: MonotonicInstant?) -> MonotonicInstant?
}

extension IdleTimeoutPolicy {
  public func reconsidered(at now: MonotonicInstant) -> IdleTimeout? { nil }

  public func offEnd(_ usual: MonotonicInstant?) -> MonotonicInstant? { usual }
}

/// How long a source keeps running after its last subscriber has left, and why.
public struct IdleTimeout: Equatable, Sendable {
  public var duration: Duration
  /// The reason that the activity shows; `nil` to show only which holder left.
  public var reason: String?

  public init(_ duration: Duration, reason: String? = nil) {
    self.duration = duration
    self.reason = reason
  }
}
