import Guarding

/// A timer with at most one pending action. Setting it replaces the pending action; after `end()` it ignores further
/// settings. Keep it: the action of a released alarm does not begin.
///
/// ```swift
/// let alarm = Alarm(clock: clock)
/// alarm.set(at: clock.now + .seconds(5)) { switchOff() }
/// ```
public final class Alarm: Sendable {
  private struct State {
    var action: ScheduledAction?
    /// The number of calls that set or cancelled the alarm. An action that runs immediately may set the alarm again
    /// before `set` stores the first one; the number tells `set` that its own action is outdated.
    var setting = 0
    var isOver = false
  }

  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())

  public init(clock: any MonotonicTimeSource) { self.clock = clock }

  /// Schedules `action`. Do not call this while holding a lock that `action` takes: if the deadline has passed, the
  /// action may run immediately.
  public func set(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) {
    set(asking: { deadline }, action)
  }

  /// Schedules `action` at the instant that `deadline` returns. If it returns `nil`, no action is pending afterwards.
  ///
  /// Use this if several threads change the state that decides the instant, and each sets the alarm after its change.
  /// Of concurrent calls, the last one to begin wins. Each call asks for the deadline after it has begun, so the
  /// deadline of the winner takes all of these changes into account.
  ///
  /// ```swift
  /// alarm.set(asking: { state.withLock { $0.isOver ? nil : $0.nextEvent } }) { [weak self] in self?.look() }
  /// ```
  ///
  /// - Parameter deadline: called once, unless the alarm has ended; it may take the lock of the state
  public func set(asking deadline: () -> MonotonicInstant?, _ action: @escaping @Sendable () -> Void) {
    let (overtaken, setting): (ScheduledAction?, Int?) = state.withLock { state in
      if state.isOver { return (nil, nil) }
      state.setting += 1
      defer { state.action = nil }
      return (state.action, state.setting)
    }
    overtaken?.cancel()
    guard let setting, let deadline = deadline() else { return }
    // The clock may take the action out of its queue just before the alarm is set again or cancelled, so the action
    // checks as it begins. The clock does not keep the alarm, which keeps the clock.
    let scheduled = clock.schedule(at: deadline) { [weak self] in
      if self?.state.withLock({ !$0.isOver && $0.setting == setting }) == true { action() }
    }
    let isTooLate = state.withLock { state in
      if state.isOver || state.setting != setting { return true }
      state.action = scheduled
      return false
    }
    if isTooLate { scheduled.cancel() }
  }

  /// Cancels the pending action. After this returns, no action begins until the alarm is set again. A `set` that is
  /// still running on another thread does not begin its action either.
  ///
  /// An action that has begun goes on, and may still be running when this returns. An action that must not do so checks
  /// its own state under its own lock. The action itself may call `cancel`.
  public func cancel() {
    let action = state.withLock { state in
      state.setting += 1
      defer { state.action = nil }
      return state.action
    }
    action?.cancel()
  }

  /// Cancels the pending action permanently. After this returns, no action begins. As with `cancel`, an action that has
  /// begun goes on.
  public func end() {
    let action = state.withLock { state in
      state.isOver = true
      defer { state.action = nil }
      return state.action
    }
    action?.cancel()
  }
}
