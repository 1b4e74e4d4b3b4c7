import CLinux
import Guarding

/// Performs actions at their time, on one thread that sleeps until the next one is due and not a moment less.
///
/// Swift's own `Task.sleep` goes through Dispatch, whose thread pool on Linux looks after itself once a second from its
/// first use on: a hub that promises not to wake while nobody listens cannot touch it.
final class TimerThread: Sendable {
  static let shared = TimerThread()

  /// Starts the thread where that has not been done.
  ///
  /// - Returns: 0, or why there is none
  func start() -> Int32 {
    if timer < 0 { return EMFILE }
    let mustStart = state.withLock { state in
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard mustStart else { return 0 }
    let error = DetachedThread.start("timers") { self.run() }
    if error != 0 { state.withLock { $0.isRunning = false } }
    return error
  }

  private struct State {
    /// The earliest first.
    var waiting: [ScheduledAction] = []
    var isRunning = false
  }

  private let timer: Int32
  private let state = Guarded(State())

  private init() { timer = clinux_timerfd() }

  func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
    let scheduled = ScheduledAction(at: deadline, action) { [self] in remove($0) }
    state.withLock { state in
      let index = state.waiting.firstIndex { $0.deadline > deadline } ?? state.waiting.endIndex
      state.waiting.insert(scheduled, at: index)
      if index == 0 { arm(state) }
    }
    // A program that must not be without it has started it before (`MonotonicClock.start`). Any other one tries with each action.
    _ = start()
    return scheduled
  }

  private func remove(_ scheduled: ScheduledAction) {
    state.withLock { state in
      guard let index = state.waiting.firstIndex(where: { $0 === scheduled }) else { return }
      state.waiting.remove(at: index)
      if index == 0 { arm(state) }
    }
  }

  private func arm(_ state: State) {
    // Zero disarms, so an instant that is long past is at least one.
    _ = clinux_timerfd_arm(timer, state.waiting.first.map { max($0.deadline.nanoseconds, 1) } ?? 0, 0)
  }

  private func run() {
    while true {
      clinux_wait_readable(timer)
      let due = state.withLock { state in
        let now = clinux_monotonic_ns()
        let count = state.waiting.firstIndex { $0.deadline.nanoseconds > now } ?? state.waiting.endIndex
        let due = Array(state.waiting[..<count])
        state.waiting.removeFirst(count)
        arm(state)
        return due
      }
      for action in due { action.perform() }
    }
  }
}
