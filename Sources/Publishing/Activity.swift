import MonotonicTime

/// What a lazy publisher is doing, since when, why, and for whom.
public struct Activity: Equatable, Sendable {
  public enum Phase: String, Equatable, Sendable {
    /// The source does not run; whatever it powers is off.
    case idle
    /// Somebody subscribed: the source is being set up, or waits for its minimum time off to pass.
    case starting
    case running
    /// Nobody listens any more; the source runs on for a while, in case somebody comes back.
    case lingering
    /// The source has been told to stop and is powering down.
    case stopping
    /// The source has failed and is off; the next subscriber starts it again.
    case failed
  }

  public var phase: Phase
  public var since: MonotonicInstant
  public var reason: String
  /// The names of the subscribers, in the order in which they came.
  public var holders: [String]
  /// When it stops lingering, if it does and nobody comes.
  public var until: MonotonicInstant?

  public init(
    phase: Phase, since: MonotonicInstant, reason: String, holders: [String], until: MonotonicInstant? = nil
  ) {
    self.phase = phase
    self.since = since
    self.reason = reason
    self.holders = holders
    self.until = until
  }
}
