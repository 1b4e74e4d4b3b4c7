import MonotonicTime

/// What a lazy publisher is doing, since when, why, and for how many.
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
  /// How many subscribe to it directly. For whom they do says `LazyPublisher.holders`.
  public var subscriberCount: Int
  /// When it stops lingering, if it does and nobody comes.
  public var until: MonotonicInstant?

  public init(
    phase: Phase, since: MonotonicInstant, reason: String, subscriberCount: Int, until: MonotonicInstant? = nil
  ) {
    self.phase = phase
    self.since = since
    self.reason = reason
    self.subscriberCount = subscriberCount
    self.until = until
  }
}
