import Guarding

/// A timer with at most one pending action. Setting it replaces the pending action; after `end()` it ignores further
/// settings.
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
    let (overtaken, setting): (ScheduledAction?, Int?) = state.withLock { state in
      if state.isOver { return (nil, nil) }
      state.setting += 1
      defer { state.action = nil }
      return (state.action, state.setting)
    }
    overtaken?.cancel()
    guard let setting else { return }
    let scheduled = clock.schedule(at: deadline, action)
    let isTooLate = state.withLock { state in
      if state.isOver || state.setting != setting { return true }
      state.action = scheduled
      return false
    }
    if isTooLate { scheduled.cancel() }
  }

  /// Cancels the pending action. After this returns, no action starts until the alarm is set again.
  public func cancel() {
    let action = state.withLock { state in
      state.setting += 1
      defer { state.action = nil }
      return state.action
    }
    action?.cancel()
  }

  /// Cancels the pending action permanently. After this returns, no action starts.
  public func end() {
    let action = state.withLock { state in
      state.isOver = true
      defer { state.action = nil }
      return state.action
    }
    action?.cancel()
  }
}
