import Glibc
import Guarding
import Hub
import MonotonicTime
import Publishing

/// Delivers the notices of one hook, one after the other and in order. It has a thread while it delivers, and a timer
/// while it waits for the next attempt; at other times it has neither.
final class HookDelivery: Sendable {
  private struct State {
    var settings: HookSettings
    var queue: HookQueue
    var isDelivering = false
    var isOver = false
    /// The reason of the last failed attempt; `nil` after any other outcome.
    var said: String?
    var whenIdle: [Callback] = []
    var whenTried: [(id: String, callback: Callback)] = []
  }

  /// The hub's objects that a delivery uses.
  struct Surroundings: Sendable {
    var sink: JournalSink
    var clock: any MonotonicTimeSource
    var link: @Sendable () -> FleetLink?
    /// The callback for a change of the waiting notices. It must not wait.
    var changed: @Sendable () -> Void
  }

  var key: String { settings.key }
  var settings: HookSettings { state.withLock { $0.settings } }
  private let surroundings: Surroundings
  private let stop = StopSignal()
  private let alarm: Alarm
  private let state: Guarded<State>

  /// - Parameter waiting: the undelivered notices of earlier runs
  init(_ settings: HookSettings, waiting: [HookNotice], _ surroundings: Surroundings) {
    self.surroundings = surroundings
    alarm = Alarm(clock: surroundings.clock)
    state = Guarded(State(settings: settings, queue: HookQueue(waiting)))
  }

  /// The undelivered notices.
  var waiting: [HookNotice] { state.withLock { $0.queue.waiting } }

  /// Uses these settings from now on.
  func follow(_ settings: HookSettings) { state.withLock { $0.settings = settings } }

  /// Adds a notice. Does not wait.
  func add(_ notice: HookNotice) {
    let lost = state.withLock { state -> Int? in
      guard state.settings.events.contains(notice.event) else { return nil }
      let lost = state.queue.add(notice)
      return lost ? state.queue.lostCount : nil
    }
    if let lost, lost % HookQueue.most == 1 {
      say(.error, "the target could not be reached for too long: \(lost) events are lost, and the newest are kept")
    }
    go()
  }

  /// Starts the next delivery if it is due, or sets the timer for one that is due later.
  func go() {
    let now = surroundings.clock.now
    enum Step {
      case nothing
      case wait(MonotonicInstant)
      case deliver(HookNotice, HookSettings.Action)
    }
    let step = state.withLock { state -> Step in
      guard !state.isDelivering, !state.isOver else { return .nothing }
      switch state.queue.next(at: now) {
      case .nothing: return .nothing
      case .wait(let instant): return .wait(instant)
      case .deliver(let notice):
        state.isDelivering = true
        return .deliver(notice, state.settings.action)
      }
    }
    switch step {
    case .nothing: break
    case .wait(let instant): alarm.set(at: instant) { [weak self] in self?.go() }
    case .deliver(let notice, let action):
      let error = DetachedThread.start("hook") { [self] in
        finish(notice, action.deliver(notice, at: surroundings.link(), stop: stop))
      }
      if error != 0 {
        finish(
          notice,
          .failed("cannot start a thread for the hook: \(String(cString: strerror(error)))", isRefusal: false))
      }
    }
  }

  private func finish(_ notice: HookNotice, _ outcome: HookOutcome) {
    let now = surroundings.clock.now
    let failures = state.withLock { state in
      let failures = state.queue.failures
      switch outcome {
      case .taken, .givenUp: state.queue.done(notice, at: now)
      case .failed(_, let isRefusal): state.queue.failed(at: now, isRefusal: isRefusal)
      case .stopped: break
      }
      return failures
    }
    surroundings.changed()
    switch outcome {
    case .taken:
      say(
        .notice,
        failures == 0 ? "delivered \(notice.title)" : "delivered \(notice.title) after \(failures + 1) attempts")
    case .givenUp(let reason): say(.error, "not delivered: \(notice.title): \(reason)")
    case .failed(let reason, _): sayOnce("not delivered yet, trying again: \(notice.title): \(reason)", reason)
    case .stopped: break
    }
    if case .failed = outcome {} else { state.withLock { $0.said = nil } }
    let callbacks = state.withLock { state in
      state.isDelivering = false
      let tried = state.whenTried.filter { $0.id == notice.id }.map(\.callback)
      state.whenTried.removeAll { $0.id == notice.id }
      defer { state.whenIdle = [] }
      return state.whenIdle + tried
    }
    for callback in callbacks { callback() }
    go()
  }

  private func sayOnce(_ text: String, _ reason: String) {
    let isNews = state.withLock { state in
      defer { state.said = reason }
      return state.said != reason
    }
    if isNews { say(.warning, text) }
  }

  private func say(_ priority: JournalSink.Priority, _ text: String) {
    surroundings.sink.write(
      priority, "hook \(key): \(text)", fields: [.init("SENSORHUB_EVENT", "hook"), .init("SENSORHUB_HOOK", key)])
  }

  /// Starts no further delivery. Waiting notices are kept.
  func end() {
    state.withLock { $0.isOver = true }
    alarm.end()
  }

  /// Stops the running delivery.
  func interrupt() { stop.set() }

  /// Calls back once a notice has been delivered or has failed for the first time. If this hook has no such notice,
  /// calls back at once.
  func whenTried(_ id: String, _ action: @escaping @Sendable () -> Void) {
    let isWaiting = state.withLock { state in
      guard state.queue.waiting.contains(where: { $0.id == id }), !state.isOver else { return false }
      state.whenTried.append((id, Callback(action)))
      return true
    }
    if !isWaiting { action() }
  }

  /// Calls back once no delivery is running, which may be at once.
  func whenIdle(_ action: @escaping @Sendable () -> Void) {
    let isIdle = state.withLock { state in
      if state.isDelivering { state.whenIdle.append(Callback(action)) }
      return !state.isDelivering
    }
    if isIdle { action() }
  }
}

/// The undelivered notices of one hook, in order, and the time of the next attempt. After a failure it waits according
/// to `ReconnectBackoff`, and it never exceeds `rate` deliveries in a `window`.
struct HookQueue: Sendable {
  enum Next: Equatable {
    case deliver(HookNotice)
    case wait(until: MonotonicInstant)
    case nothing
  }

  /// The maximum number of notices; the oldest are dropped first.
  static let most = 64
  /// The maximum number of deliveries in one window.
  static let rate = 20
  static let window = Duration.seconds(600)

  private(set) var waiting: [HookNotice]
  private(set) var lostCount = 0
  /// The number of failed attempts to deliver the first notice.
  private(set) var failures = 0
  private var backoff = ReconnectBackoff()
  private var retryAt: MonotonicInstant?
  /// The times of the last deliveries.
  private var deliveries: [MonotonicInstant] = []

  init(_ waiting: [HookNotice] = []) { self.waiting = Array(waiting.suffix(HookQueue.most)) }

  /// - Returns: whether the oldest notice was dropped to make room
  mutating func add(_ notice: HookNotice) -> Bool {
    waiting.append(notice)
    guard waiting.count > HookQueue.most else { return false }
    waiting.removeFirst()
    lostCount += 1
    return true
  }

  mutating func next(at now: MonotonicInstant) -> Next {
    guard let first = waiting.first else { return .nothing }
    if let retryAt, now < retryAt { return .wait(until: retryAt) }
    deliveries.removeAll { now - $0 >= HookQueue.window }
    if deliveries.count >= HookQueue.rate, let oldest = deliveries.first {
      return .wait(until: oldest + HookQueue.window)
    }
    return .deliver(first)
  }

  /// Removes a notice that was delivered or given up.
  mutating func done(_ notice: HookNotice, at now: MonotonicInstant) {
    waiting.removeAll { $0.id == notice.id }
    deliveries.append(now)
    backoff.reset()
    (retryAt, failures) = (nil, 0)
  }

  /// Sets the time of the next try after a failed delivery.
  ///
  /// - Parameter isRefusal: whether a person must act, as in `HookOutcome.failed`; then the next try comes later
  mutating func failed(at now: MonotonicInstant, isRefusal: Bool) {
    failures += 1
    retryAt = now + (isRefusal ? backoff.afterRefusal() : backoff.next())
  }
}
