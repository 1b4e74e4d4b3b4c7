import Guarding

/// A clock that stands still until it is told to go on: for tests and for simulations in steps.
public final class ManualClock: MonotonicTimeSource {
  private struct State {
    var now: MonotonicInstant
    var waiting: [ScheduledAction] = []
    var observers: [(count: Int, continuation: UnsafeContinuation<Void, Never>)] = []
  }

  private let state: Guarded<State>

  public init(now: MonotonicInstant = MonotonicInstant(nanoseconds: 1_000_000_000)) {
    state = Guarded(State(now: now))
  }

  public var now: MonotonicInstant { state.withLock { $0.now } }

  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Sets the clock forward and does, in the order of their deadlines and before it returns, what was to be done up to
  /// then.
  public func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let due = state.waiting.filter { $0.deadline <= state.now }.sorted { $0.deadline < $1.deadline }
      state.waiting.removeAll { $0.deadline <= state.now }
      return due
    }
    for action in due { action.perform() }
  }

  /// Returns once at least `count` actions wait for their time.
  public func sleepers(_ count: Int) async {
    await withUnsafeContinuation { continuation in
      let isReached = state.withLock { state in
        if state.waiting.count >= count { return true }
        state.observers.append((count, continuation))
        return false
      }
      if isReached { continuation.resume() }
    }
  }

  public func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
    let scheduled = ScheduledAction(at: deadline, action) { [weak self] cancelled in
      self?.state.withLock { state in state.waiting.removeAll { $0 === cancelled } }
    }
    let (isDue, reached) = state.withLock { state -> (Bool, [UnsafeContinuation<Void, Never>]) in
      if deadline <= state.now { return (true, []) }
      state.waiting.append(scheduled)
      let reached = state.observers.filter { $0.count <= state.waiting.count }.map(\.continuation)
      state.observers.removeAll { $0.count <= state.waiting.count }
      return (false, reached)
    }
    if isDue { scheduled.perform() }
    for observer in reached { observer.resume() }
    return scheduled
  }
}
