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
  }

  /// The hub's objects that a delivery uses.
  struct Surroundings: Sendable {
    var sink: JournalSink
    var clock: any MonotonicTimeSource
    var link: @Sendable () -> FleetLink?
    /// Called when the waiting notices have changed. It must not wait.
    var changed: @Sendable () -> Void
  }

  let key: String
  private let surroundings: Surroundings
  private let stop = StopSignal()
  private let alarm: Alarm
  private let state: Guarded<State>

  /// - Parameter waiting: the undelivered notices of earlier runs
  init(_ settings: HookSettings, waiting: [HookNotice], _ surroundings: Surroundings) {
    key = settings.key
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
    let idle = state.withLock { state in
      state.isDelivering = false
      defer { state.whenIdle = [] }
      return state.whenIdle
    }
    for callback in idle { callback() }
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

  /// Calls back once no delivery is running; at once if none is running now.
  func whenIdle(_ action: @escaping @Sendable () -> Void) {
    let isIdle = state.withLock { state in
      if state.isDelivering { state.whenIdle.append(Callback(action)) }
      return !state.isDelivering
    }
    if isIdle { action() }
  }
}
