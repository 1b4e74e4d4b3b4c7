import Guarding

/// A clock that advances only when a method advances it. Used in tests, in stepwise simulations and for replaying
/// recordings.
///
/// ```swift
/// let clock = ManualClock()
/// let action = clock.schedule(at: clock.now + .seconds(5)) { switchOff() }
/// clock.advance(by: .seconds(5))  // switchOff() has run when this returns
/// ```
public final class ManualClock: MonotonicTimeSource {
  private struct State {
    var now: MonotonicInstant
    var waiting: [ScheduledAction] = []
    var observers: [(count: Int, continuation: UnsafeContinuation<Void, Never>)] = []
  }

  private let state: Guarded<State>
  private let observers = SuspendObservers()

  public init(now: MonotonicInstant = MonotonicInstant(nanoseconds: 1_000_000_000)) {
    state = Guarded(State(now: now))
  }

  public var now: MonotonicInstant { state.withLock { $0.now } }

  public var minimumResolution: Duration { .nanoseconds(1) }

  /// The number of actions that wait for their time. If it is 0, no action runs when the clock advances.
  public var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Advances the clock, then performs the actions that have become due, in the order of their deadlines, before it
  /// returns.
  public func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let due = state.waiting.filter { $0.deadline <= state.now }.sorted { $0.deadline < $1.deadline }
      state.waiting.removeAll { $0.deadline <= state.now }
      return due
    }
    for action in due { action.perform() }
  }

  /// Simulates a suspension of the machine. The clock stands still, and the observers of `onResume` are called before
  /// this returns.
  public func suspend(for duration: Duration) { observers.tell(duration) }

  public func onResume(_ resumed: @escaping @Sendable (_ slept: Duration) -> Void) -> SuspendObservation {
    observers.add(resumed)
  }

  /// Advances the clock to an instant as if it ran: it stops at each deadline on the way and performs the action
  /// there. Actions are performed in the order of their deadlines, before this returns. Does nothing if the instant
  /// has passed.
  public func run(until end: MonotonicInstant) {
    while let due = takeFirst(until: end) { due.perform() }
  }

  /// Advances the clock to the earliest deadline up to `end` and returns the action due then. If there is none,
  /// advances the clock to `end` and returns `nil`.
  private func takeFirst(until end: MonotonicInstant) -> ScheduledAction? {
    state.withLock { state in
      let first = state.waiting.indices.min { state.waiting[$0].deadline < state.waiting[$1].deadline }
      guard let first, state.waiting[first].deadline <= end else {
        state.now = max(state.now, end)
        return nil
      }
      let due = state.waiting.remove(at: first)
      state.now = max(state.now, due.deadline)
      return due
    }
  }

  /// Returns once at least `count` actions wait for their time, or once the task is cancelled, for example by a test's
  /// time limit.
  public func sleepers(_ count: Int) async {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let isReached = state.withLock { state in
          if state.waiting.count >= count || Task.isCancelled { return true }
          state.observers.append((count, continuation))
          return false
        }
        if isReached { continuation.resume() }
      }
    } onCancel: {
      // Only the tasks of one test wait here, so all of them are resumed.
      let observers = state.withLock { state in
        defer { state.observers = [] }
        return state.observers
      }
      for observer in observers { observer.continuation.resume() }
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
