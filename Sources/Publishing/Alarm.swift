import Guarding
import MonotonicTime

/// One scheduled action at a time: setting it again overtakes the one before, and after its end it is not set any more.
public final class Alarm: Sendable {
  private struct State {
    var action: ScheduledAction?
    /// Counts the settings: an action that is done at once, and sets the next one, is noted here after that.
    var setting = 0
    var isOver = false
  }

  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())

  public init(clock: any MonotonicTimeSource) { self.clock = clock }

  /// Not to be called under a lock that `action` takes: where the instant is past it may be done at once.
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

  /// Takes back what was set: until it is set again no action begins once this has returned.
  public func cancel() {
    let action = state.withLock { state in
      state.setting += 1
      defer { state.action = nil }
      return state.action
    }
    action?.cancel()
  }

  /// Once this has returned no action begins any more.
  public func end() {
    let action = state.withLock { state in
      state.isOver = true
      defer { state.action = nil }
      return state.action
    }
    action?.cancel()
  }
}
