import CLinux
import Guarding

/// A clock whose instants are `MonotonicInstant`s. All code that waits takes a clock, so that tests can control the
/// time.
public protocol MonotonicTimeSource: Clock where Instant == MonotonicInstant, Duration == Swift.Duration {
  /// Performs `action` once at an instant: on the clock's timer thread, or on the thread that advances a `ManualClock`.
  /// If the instant has passed, `action` runs as soon as possible, perhaps before this returns.
  func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction

  /// Calls `resumed` after each suspension of the machine, with its duration, which neither `now` nor scheduled
  /// actions count. The call is made on the thread that performs scheduled actions, before the actions that are due.
  func onResume(_ resumed: @escaping @Sendable (_ slept: Duration) -> Void) -> SuspendObservation
}

extension MonotonicTimeSource {
  public func onResume(_ resumed: @escaping @Sendable (_ slept: Duration) -> Void) -> SuspendObservation { .none }
}

/// The machine's CLOCK_MONOTONIC.
public struct MonotonicClock: MonotonicTimeSource {
  public init() {}

  /// Starts the thread that performs scheduled actions. Without this call, the thread starts with the first action. A
  /// program that needs the thread to power devices down calls this when it starts.
  ///
  /// - Returns: 0, or the error number if the system has no thread or file descriptor left
  public static func start() -> Int32 { TimerThread.shared.start() }

  public var now: MonotonicInstant { MonotonicInstant(nanoseconds: clinux_monotonic_ns()) }

  public var minimumResolution: Duration { .nanoseconds(1) }

  public func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
    TimerThread.shared.schedule(at: deadline, action)
  }

  public func onResume(_ resumed: @escaping @Sendable (_ slept: Duration) -> Void) -> SuspendObservation {
    TimerThread.shared.observers.add(resumed)
  }
}

extension MonotonicTimeSource {
  public func sleep(until deadline: MonotonicInstant, tolerance: Duration?) async throws {
    let sleeper = Sleeper()
    let isOver = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        sleeper.start(continuation) { wake in schedule(at: deadline, wake) }
      }
    } onCancel: {
      sleeper.cancel()
    }
    if !isOver { throw CancellationError() }
  }
}

/// Connects a scheduled action to a waiting task. Resumes the task exactly once, and tells it whether the deadline has
/// been reached.
private final class Sleeper: Sendable {
  private struct State {
    var continuation: UnsafeContinuation<Bool, Never>?
    var scheduled: ScheduledAction?
    var isCancelled = false
  }

  private let state = Guarded(State())

  func start(
    _ continuation: UnsafeContinuation<Bool, Never>, _ schedule: (@escaping @Sendable () -> Void) -> ScheduledAction
  ) {
    let isCancelled = state.withLock { state in
      if !state.isCancelled { state.continuation = continuation }
      return state.isCancelled
    }
    if isCancelled { return continuation.resume(returning: false) }
    let scheduled = schedule { [self] in resume(returning: true) }
    let isTooLate = state.withLock { state in
      state.scheduled = scheduled
      return state.continuation == nil
    }
    if isTooLate { scheduled.cancel() }
  }

  func cancel() {
    let scheduled = state.withLock { state in
      state.isCancelled = true
      return state.scheduled
    }
    scheduled?.cancel()
    resume(returning: false)
  }

  private func resume(returning isOver: Bool) {
    let continuation = state.withLock { state in
      defer { state.continuation = nil }
      return state.continuation
    }
    continuation?.resume(returning: isOver)
  }
}

/// An action that a clock performs once at an instant, unless it is cancelled first.
public final class ScheduledAction: Sendable {
  public let deadline: MonotonicInstant
  private let action: Guarded<Callback?>
  private let onCancel: @Sendable (ScheduledAction) -> Void

  /// - Parameter onCancel: removes the action from the queue that it waits in
  init(
    at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void,
    onCancel: @escaping @Sendable (ScheduledAction) -> Void
  ) {
    self.deadline = deadline
    self.action = Guarded(Callback(action))
    self.onCancel = onCancel
  }

  /// Performs the action, unless it has been performed or cancelled.
  func perform() { take()?() }

  /// Cancels the action. After this returns, the action does not start.
  public func cancel() {
    if take() != nil { onCancel(self) }
  }

  private func take() -> Callback? {
    action.withLock { action in
      defer { action = nil }
      return action
    }
  }
}
