import MonotonicTime

/// The durations that govern when a lazy publisher's source starts and stops.
public struct LifecycleTiming: Equatable, Sendable {
  /// How long the source keeps running after the last subscriber has left, unless an `IdleTimeoutPolicy` decides.
  public var idleTimeout: Duration
  /// The shortest time that the source runs. It counts from `SourceContext.switchedOn()` if the source calls that, and
  /// otherwise from the start.
  public var minimumOn: Duration
  /// The shortest time between the end of the source and its next start.
  public var minimumOff: Duration

  public init(idleTimeout: Duration = .zero, minimumOn: Duration = .zero, minimumOff: Duration = .zero) {
    self.idleTimeout = idleTimeout
    self.minimumOn = minimumOn
    self.minimumOff = minimumOff
  }
}

/// Decides when the source runs. Each method takes an event and returns the action to perform. Locks, clocks and
/// threads belong to the caller.
struct LifecycleMachine: Sendable {
  enum State: Equatable, Sendable {
    /// The source is off and has no subscriber.
    case idle
    /// The source has a subscriber, but must stay off until its minimum time off has passed.
    case resting
    /// The source has been started and has not yet reported that it is up.
    case starting
    case running
    /// The source has no subscriber and keeps running until the timer fires.
    case lingering
    /// The source has been told to stop and has not left its scope yet.
    case stopping
    /// The run must begin again. The source has been told to stop, counts as failed, and has not left its scope yet.
    case interrupted
    /// The source hangs. It has been told to stop and counts as failed until it leaves its scope.
    case stuck
  }

  enum Effect: Equatable {
    case nothing
    case start(run: Int)
    case stop
    case wait(until: MonotonicInstant, timer: Int)
    case cancelWait
  }

  private(set) var state = State.idle
  /// The number of the current or last run.
  private(set) var run = 0
  private var timing: LifecycleTiming
  private var subscriberCount = 0
  private var hasShownLife = false
  private(set) var isShutDown = false
  private var startedAt = MonotonicInstant(nanoseconds: 0)
  private var endedAt: MonotonicInstant?
  private(set) var lingersUntil: MonotonicInstant?
  /// When the idle timeout ends if the minimum time on is not counted.
  private var idleTimeoutEnd: MonotonicInstant?
  /// The number of the current timer. A timer with another number is outdated.
  private var timer = 0

  init(timing: LifecycleTiming) { self.timing = timing }

  /// Returns the instant until which the source must stay off, or `nil` if it may start now. `usual` is the instant
  /// that the timing gives.
  typealias OffEnd = (_ usual: MonotonicInstant?) -> MonotonicInstant?

  mutating func subscribed(_ now: MonotonicInstant, offEnd: OffEnd = { $0 }) -> Effect {
    subscriberCount += 1
    switch state {
    case .idle: return startOrRest(now, offEnd)
    case .lingering:
      state = hasShownLife ? .running : .starting
      timer += 1
      return .cancelWait
    case .resting, .starting, .running, .stopping, .interrupted, .stuck: return .nothing
    }
  }

  /// - Parameter idleTimeout: returns the idle timeout; `usual` is the one that the timing gives. Called only if the
  ///   last subscriber left a source that is starting or running
  mutating func unsubscribed(_ now: MonotonicInstant, idleTimeout: (_ usual: Duration) -> Duration) -> Effect {
    subscriberCount -= 1
    guard subscriberCount == 0 else { return .nothing }
    switch state {
    case .resting:
      state = .idle
      timer += 1
      return .cancelWait
    case .starting, .running:
      return self.idleTimeout(until: now + idleTimeout(timing.idleTimeout), now)
    case .idle, .lingering, .stopping, .interrupted, .stuck: return .nothing
    }
  }

  /// Handles a change of the policy's idle timeout.
  ///
  /// - Parameter idleTimeout: returns the idle timeout from now on, or `nil` to keep the present one; only called if
  ///   the source is in its idle timeout
  mutating func reconsidered(_ now: MonotonicInstant, idleTimeout: () -> Duration?) -> Effect {
    guard state == .lingering, let idleTimeout = idleTimeout() else { return .nothing }
    return self.idleTimeout(until: now + idleTimeout, now)
  }

  /// Replaces the timing. A source in its idle timeout keeps the timeout unless `idleTimeout` returns another one, but
  /// runs at least for the new minimum time on. A source that must stay off does so for the new minimum time off.
  ///
  /// - Parameter idleTimeout: as in `reconsidered`
  mutating func changeTiming(
    to timing: LifecycleTiming, _ now: MonotonicInstant, offEnd: OffEnd = { $0 }, idleTimeout: () -> Duration?
  ) -> Effect {
    let isNews = timing != self.timing
    self.timing = timing
    switch state {
    case .lingering:
      if let idleTimeout = idleTimeout() { return self.idleTimeout(until: now + idleTimeout, now) }
      guard let idleTimeoutEnd, max(idleTimeoutEnd, startedAt + timing.minimumOn) != lingersUntil else {
        return .nothing
      }
      return self.idleTimeout(until: idleTimeoutEnd, now)
    case .resting: return isNews ? startOrRest(now, offEnd) : .nothing
    case .idle, .starting, .running, .stopping, .interrupted, .stuck: return .nothing
    }
  }

  /// Handles a change of the time for which the source must stay off.
  mutating func reconsideredOffTime(_ now: MonotonicInstant, offEnd: OffEnd) -> Effect {
    guard state == .resting else { return .nothing }
    return startOrRest(now, offEnd)
  }

  private mutating func idleTimeout(until end: MonotonicInstant, _ now: MonotonicInstant) -> Effect {
    idleTimeoutEnd = end
    let stopAt = max(end, startedAt + timing.minimumOn)
    if stopAt <= now {
      state = .stopping
      timer += 1
      return .stop
    }
    return wait(until: stopAt)
  }

  func isWaiting(for timer: Int) -> Bool { timer == self.timer && (state == .lingering || state == .resting) }

  mutating func timerFired(_ firedTimer: Int, _ now: MonotonicInstant, offEnd: OffEnd = { $0 }) -> Effect {
    guard firedTimer == timer else { return .nothing }
    switch state {
    case .lingering:
      state = .stopping
      return .stop
    case .resting: return startOrRest(now, offEnd)
    case .idle, .starting, .running, .stopping, .interrupted, .stuck: return .nothing
    }
  }

  /// Shuts down. The source never starts again, and a running source stops now. If the source is not running, or hangs,
  /// waiting subscribers no longer count.
  mutating func shutDown() -> Effect {
    isShutDown = true
    timer += 1
    switch state {
    case .starting, .running, .lingering:
      state = .stopping
      return .stop
    case .resting:
      state = .idle
      subscriberCount = 0
      return .cancelWait
    case .interrupted:
      // The source was told to stop already. From now on it does not begin again.
      state = .stopping
      return .nothing
    case .stuck:
      subscriberCount = 0
      return .nothing
    case .idle, .stopping: return .nothing
    }
  }

  /// Handles a source that hangs. Its subscribers wait until it leaves its scope, unless the machine has been shut
  /// down.
  mutating func hung() -> Effect {
    switch state {
    case .starting, .running, .lingering, .stopping, .interrupted:
      state = .stuck
      timer += 1
      if isShutDown { subscriberCount = 0 }
      return .stop
    case .idle, .resting, .stuck: return .nothing
    }
  }

  /// Handles a run that must begin again because its readings are out of date, for example after the machine was
  /// suspended. If a client needs the source, the run fails. If the source is in its idle timeout, it stops.
  mutating func interrupted() -> Effect {
    switch state {
    case .starting, .running, .lingering:
      state = state == .lingering ? .stopping : .interrupted
      timer += 1
      return .stop
    case .idle, .resting, .stopping, .interrupted, .stuck: return .nothing
    }
  }

  /// Handles the report that the device's supply is on. The time before the report does not count as time on.
  mutating func switchedOn(_ now: MonotonicInstant) -> Effect {
    startedAt = now
    guard state == .lingering, let lingersUntil, lingersUntil < now + timing.minimumOn else { return .nothing }
    return wait(until: now + timing.minimumOn)
  }

  private mutating func wait(until deadline: MonotonicInstant) -> Effect {
    state = .lingering
    lingersUntil = deadline
    timer += 1
    return .wait(until: deadline, timer: timer)
  }

  /// Handles the report that the source is up.
  mutating func showedLife() {
    hasShownLife = true
    if state == .starting { state = .running }
  }

  /// Handles a source that has left its scope. The subscribers are completed, and no longer count, in three cases: the
  /// source ended without being told to stop, it hung or was interrupted, or it will never start again.
  mutating func ended(
    _ now: MonotonicInstant, offEnd: OffEnd = { $0 }
  ) -> (endedByItself: Bool, isOverForAll: Bool, effect: Effect) {
    let endedByItself = state != .stopping
    endedAt = now
    state = .idle
    if endedByItself || isShutDown {
      subscriberCount = 0
      timer += 1
      return (endedByItself, true, .cancelWait)
    }
    return (false, false, subscriberCount > 0 ? startOrRest(now, offEnd) : .nothing)
  }

  private mutating func startOrRest(_ now: MonotonicInstant, _ offEnd: OffEnd) -> Effect {
    if let end = offEnd(endedAt.map { $0 + timing.minimumOff }), end > now {
      state = .resting
      timer += 1
      return .wait(until: end, timer: timer)
    }
    state = .starting
    hasShownLife = false
    startedAt = now
    run += 1
    return .start(run: run)
  }
}

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
    /// The source has failed and is off, or it hangs or was interrupted. The next subscriber starts it again once it has
    /// left its scope.
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
  /// Whether the source was interrupted, and has not left its scope yet. A source that hangs does not count, because it
  /// may never leave its scope.
  public var isLeaving: Bool

  /// Whether the source has left its scope, or hangs in it.
  public var isOver: Bool { (phase == .idle || phase == .failed) && !isLeaving }

  public init(
    phase: Phase, since: MonotonicInstant, reason: String, subscriberCount: Int, until: MonotonicInstant? = nil,
    isLeaving: Bool = false
  ) {
    self.isLeaving = isLeaving
    self.phase = phase
    self.since = since
    self.reason = reason
    self.subscriberCount = subscriberCount
    self.until = until
  }
}
