import MonotonicTime

/// When a lazy publisher's source starts and stops.
public struct LifecycleTiming: Equatable, Sendable {
  /// How long the source runs on after the last subscriber has left, where no `LingerPolicy` decides.
  public var linger: Duration
  /// The least time a source runs, from `Reading.switchedOn()` where it says so, else from the start.
  public var minimumOn: Duration
  /// The least time between a source's end and its next start.
  public var minimumOff: Duration

  public init(linger: Duration = .zero, minimumOn: Duration = .zero, minimumOff: Duration = .zero) {
    self.linger = linger
    self.minimumOn = minimumOn
    self.minimumOff = minimumOff
  }
}

/// Decides when the source runs. It only decides: each method takes what has happened and returns what to do, and the
/// lock, the clock and the thread are somebody else's.
struct LifecycleMachine: Sendable {
  enum State: Equatable, Sendable {
    /// The source is off and nobody is interested.
    case idle
    /// Somebody is interested, but the source has to stay off a little longer.
    case resting
    /// The source has been started and has not shown a sign of life.
    case starting
    case running
    /// Nobody is interested; the source runs on until the timer fires.
    case lingering
    /// The source has been told to stop and has not left its scope yet.
    case stopping
    /// The source hangs: it was told to stop, and counts as failed until it leaves its scope after all.
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
  /// Counts the source's runs; the current or last one.
  private(set) var run = 0
  private var timing: LifecycleTiming
  private var subscriberCount = 0
  private var hasShownLife = false
  private(set) var isShutDown = false
  private var startedAt = MonotonicInstant(nanoseconds: 0)
  private var endedAt: MonotonicInstant?
  private(set) var lingersUntil: MonotonicInstant?
  /// The same without its least time on.
  private var lingerEnd: MonotonicInstant?
  /// Identifies the timer that counts; others have been overtaken.
  private var timer = 0

  init(timing: LifecycleTiming) { self.timing = timing }

  /// Until when the source has to stay off; given when that is by its timing, `nil` for not at all.
  typealias RestEnd = (_ usual: MonotonicInstant?) -> MonotonicInstant?

  mutating func subscribed(_ now: MonotonicInstant, restEnd: RestEnd = { $0 }) -> Effect {
    subscriberCount += 1
    switch state {
    case .idle: return startOrRest(now, restEnd)
    case .lingering:
      state = hasShownLife ? .running : .starting
      timer += 1
      return .cancelWait
    case .resting, .starting, .running, .stopping, .stuck: return .nothing
    }
  }

  /// - Parameter linger: asked for how long to linger, if it comes to that, and given for how long as a rule
  mutating func unsubscribed(_ now: MonotonicInstant, linger: (_ usual: Duration) -> Duration) -> Effect {
    subscriberCount -= 1
    guard subscriberCount == 0 else { return .nothing }
    switch state {
    case .resting:
      state = .idle
      timer += 1
      return .cancelWait
    case .starting, .running:
      return self.linger(until: now + linger(timing.linger), now)
    case .idle, .lingering, .stopping, .stuck: return .nothing
    }
  }

  /// What it lingers for has changed.
  ///
  /// - Parameter linger: asked, where it lingers, for how long from now on; `nil` for as long as before
  mutating func reconsidered(_ now: MonotonicInstant, linger: () -> Duration?) -> Effect {
    guard state == .lingering, let linger = linger() else { return .nothing }
    return self.linger(until: now + linger, now)
  }

  /// The timing is another one from now on. What lingers does so for as long as was decided, and for its new least time on.
  ///
  /// - Parameter linger: as of `reconsidered`
  mutating func changeTiming(
    to timing: LifecycleTiming, _ now: MonotonicInstant, restEnd: RestEnd = { $0 }, linger: () -> Duration?
  ) -> Effect {
    let isNews = timing != self.timing
    self.timing = timing
    switch state {
    case .lingering:
      if let linger = linger() { return self.linger(until: now + linger, now) }
      guard let lingerEnd, max(lingerEnd, startedAt + timing.minimumOn) != lingersUntil else { return .nothing }
      return self.linger(until: lingerEnd, now)
    case .resting: return isNews ? startOrRest(now, restEnd) : .nothing
    case .idle, .starting, .running, .stopping, .stuck: return .nothing
    }
  }

  /// What it has to stay off for has changed.
  mutating func reconsideredRest(_ now: MonotonicInstant, restEnd: RestEnd) -> Effect {
    guard state == .resting else { return .nothing }
    return startOrRest(now, restEnd)
  }

  private mutating func linger(until end: MonotonicInstant, _ now: MonotonicInstant) -> Effect {
    lingerEnd = end
    let stopAt = max(end, startedAt + timing.minimumOn)
    if stopAt <= now {
      state = .stopping
      timer += 1
      return .stop
    }
    return wait(until: stopAt)
  }

  func isWaiting(for timer: Int) -> Bool { timer == self.timer && (state == .lingering || state == .resting) }

  mutating func timerFired(_ firedTimer: Int, _ now: MonotonicInstant, restEnd: RestEnd = { $0 }) -> Effect {
    guard firedTimer == timer else { return .nothing }
    switch state {
    case .lingering:
      state = .stopping
      return .stop
    case .resting: return startOrRest(now, restEnd)
    case .idle, .starting, .running, .stopping, .stuck: return .nothing
    }
  }

  /// Nothing starts any more, and what runs stops now. Where nothing runs nobody counts any more who waits for it to.
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
    case .stuck:
      subscriberCount = 0
      return .nothing
    case .idle, .stopping: return .nothing
    }
  }

  /// The source hangs. Its subscribers wait until it leaves its scope, unless it has been shut down.
  mutating func hung() -> Effect {
    switch state {
    case .starting, .running, .lingering, .stopping:
      state = .stuck
      timer += 1
      if isShutDown { subscriberCount = 0 }
      return .stop
    case .idle, .resting, .stuck: return .nothing
    }
  }

  /// What the source switches is on since now; the start before it does not count as time on.
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

  /// The source is up.
  mutating func showedLife() {
    hasShownLife = true
    if state == .starting { state = .running }
  }

  /// The source has left its scope. Where it was not told to, or will not start again, its subscribers are completed and
  /// count no more.
  mutating func ended(
    _ now: MonotonicInstant, restEnd: RestEnd = { $0 }
  ) -> (endedByItself: Bool, isOverForAll: Bool, effect: Effect) {
    let endedByItself = state != .stopping
    endedAt = now
    state = .idle
    if endedByItself || isShutDown {
      subscriberCount = 0
      timer += 1
      return (endedByItself, true, .cancelWait)
    }
    return (false, false, subscriberCount > 0 ? startOrRest(now, restEnd) : .nothing)
  }

  private mutating func startOrRest(_ now: MonotonicInstant, _ restEnd: RestEnd) -> Effect {
    if let end = restEnd(endedAt.map { $0 + timing.minimumOff }), end > now {
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
