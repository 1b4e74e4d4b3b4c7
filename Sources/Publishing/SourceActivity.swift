import MonotonicTime

/// The state of a lazy publisher: its phase, when and why that phase began, and the number of subscribers.
public struct SourceActivity: Equatable, Sendable {
  public enum Phase: String, Equatable, Sendable {
    /// The source is not running, and the device it powers is off.
    case idle
    /// A client has subscribed. The source is being set up, or waits for its minimum time off to pass.
    case starting
    case running
    /// The last subscriber has left. The source keeps running for the idle timeout in case a client comes back.
    case lingering
    /// The source has been told to stop and is powering down.
    case stopping
    /// The source has failed and is off, or it hangs. The next subscriber starts it again once it has left its scope.
    case failed
  }

  public var phase: Phase
  public var since: MonotonicInstant
  public var reason: String
  /// The number of direct subscribers. `LazyPublisher.holders` lists the clients, including those of derived
  /// publishers.
  public var subscriberCount: Int
  /// When the source will stop if no client comes back; `nil` if the source is not in its idle timeout.
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
