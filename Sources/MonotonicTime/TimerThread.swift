import CLinux
import Guarding

/// Performs actions when they are due, and calls observers after suspensions of the machine, on one thread that sleeps
/// in between.
///
/// Swift's `Task.sleep` goes through Dispatch. From its first use on, Dispatch's thread pool on Linux wakes once a
/// second for its own maintenance. The hub promises not to wake while it has no client, so it cannot use `Task.sleep`.
final class TimerThread: Sendable {
  static let shared = TimerThread()

  /// Starts the thread if it is not running.
  ///
  /// - Returns: 0, or the error number that says why there is no thread
  func start() -> Int32 {
    if timer < 0 { return EMFILE }
    let mustStart = state.withLock { state in
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard mustStart else { return 0 }
    let error = startThread { self.run() }
    if error != 0 { state.withLock { $0.isRunning = false } }
    return error
  }

  private struct State {
    /// The actions that wait, sorted by deadline.
    var waiting: [ScheduledAction] = []
    var isRunning = false
  }

  let observers = SuspendObservers()
  private let timer: Int32
  /// Wakes the thread after the machine was suspended, so that the suspension is noticed even if no action is due. It
  /// also wakes the thread when the machine's clock is set.
  private let clockChange: Int32
  private let state = Guarded(State())

  private let startThread: @Sendable (@escaping @Sendable () -> Void) -> Int32

  /// - Parameter startThread: starts a thread, and returns 0 or an error number
  init(
    startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int32 = { DetachedThread.start("timers", $0) }
  ) {
    timer = clinux_timerfd()
    clockChange = clinux_clock_change()
    self.startThread = startThread
  }

  func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
    let scheduled = ScheduledAction(at: deadline, action) { [self] in remove($0) }
    state.withLock { state in
      let index = state.waiting.firstIndex { $0.deadline > deadline } ?? state.waiting.endIndex
      state.waiting.insert(scheduled, at: index)
      if index == 0 { arm(state) }
    }
    // A program that depends on the thread has already started it (`MonotonicClock.start`). In other programs each
    // action tries to start it.
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
    // Zero would disarm the timer, so a deadline long past is set to 1.
    _ = clinux_timerfd_arm(timer, state.waiting.first.map { max($0.deadline.nanoseconds, 1) } ?? 0, 0)
  }

  private func run() {
    var suspends = SuspendDetector(before: clinux_monotonic_ns(), boottime: clinux_boottime_ns())
    while true {
      if clinux_wait_readable_either(timer, clockChange) { clinux_clear_clock_change(clockChange) }
      let (before, boottime, after) = (clinux_monotonic_ns(), clinux_boottime_ns(), clinux_monotonic_ns())
      if let slept = suspends.look(before: before, boottime: boottime, after: after) { observers.tell(slept) }
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
