import MonotonicTime

/// Decides how long a source runs on after its last subscriber, where that is not always the same.
///
/// It is asked under the publisher's lock: it decides at once, and calls nothing of the publisher's.
public protocol LingerPolicy: Sendable {
  /// Somebody subscribes while nobody else does: this one, or several of which this is the first.
  func firstCame(_ holder: Holder, at now: MonotonicInstant)

  /// The last subscriber leaves a source that runs.
  func lastLeft(_ holder: Holder, at now: MonotonicInstant) -> Linger

  /// A source that lingers is to be decided about anew (`reconsiderLinger`, `changeTiming`); `nil` where nothing has changed.
  func reconsidered(at now: MonotonicInstant) -> Linger?

  /// Until when a source has to stay off that is about to start.
  ///
  /// - Parameter usual: by its timing and its last end
  /// - Returns: `nil` to start at once
  func restEnd(_ usual: MonotonicInstant?) -> MonotonicInstant?
}

extension LingerPolicy {
  public func reconsidered(at now: MonotonicInstant) -> Linger? { nil }

  public func restEnd(_ usual: MonotonicInstant?) -> MonotonicInstant? { usual }
}

/// For how long a source runs on, and why.
public struct Linger: Equatable, Sendable {
  public var duration: Duration
  /// Stands in the activity; `nil` where there is nothing to say but who left.
  public var reason: String?

  public init(_ duration: Duration, reason: String? = nil) {
    self.duration = duration
    self.reason = reason
  }
}
