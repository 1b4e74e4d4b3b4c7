import Guarding

/// A clock that stands still until it is told to go on: for tests and for simulations in steps.
public final class ManualClock: MonotonicTimeSource {
  private struct Sleeper {
    var deadline: MonotonicInstant
    var id: UInt64
    var continuation: UnsafeContinuation<Result<Void, CancellationError>, Never>
  }

  private struct State {
    var now: MonotonicInstant
    var sleepers: [Sleeper] = []
    var cancelled: Set<UInt64> = []
    var nextID: UInt64 = 0
    var waiters: [(count: Int, continuation: UnsafeContinuation<Void, Never>)] = []
  }

  private let state: Guarded<State>

  public init(now: MonotonicInstant = MonotonicInstant(nanoseconds: 1_000_000_000)) {
    state = Guarded(State(now: now))
  }

  public var now: MonotonicInstant { state.withLock { $0.now } }

  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Sets the clock forward and wakes, in the order of their deadlines, all that wait for an instant up to then.
  public func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let due = state.sleepers.filter { $0.deadline <= state.now }.sorted { $0.deadline < $1.deadline }
      state.sleepers.removeAll { $0.deadline <= state.now }
      return due
    }
    for sleeper in due { sleeper.continuation.resume(returning: .success(())) }
  }

  /// Returns once at least `count` sleepers wait.
  public func sleepers(_ count: Int) async {
    await withUnsafeContinuation { continuation in
      let isReached = state.withLock { state in
        if state.sleepers.count >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isReached { continuation.resume() }
    }
  }

  public func sleep(until deadline: MonotonicInstant, tolerance: Duration?) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { (continuation: UnsafeContinuation<Result<Void, CancellationError>, Never>) in
        enum Step { case done, cancelled, sleeping([UnsafeContinuation<Void, Never>]) }
        let step: Step = state.withLock { state in
          if state.cancelled.remove(id) != nil { return .cancelled }
          if deadline <= state.now { return .done }
          state.sleepers.append(Sleeper(deadline: deadline, id: id, continuation: continuation))
          let reached = state.waiters.filter { $0.count <= state.sleepers.count }.map(\.continuation)
          state.waiters.removeAll { $0.count <= state.sleepers.count }
          return .sleeping(reached)
        }
        switch step {
        case .done: continuation.resume(returning: .success(()))
        case .cancelled: continuation.resume(returning: .failure(CancellationError()))
        case .sleeping(let reached): for waiter in reached { waiter.resume() }
        }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
          state.cancelled.insert(id)
          return nil
        }
        return state.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(returning: .failure(CancellationError()))
    }
    state.withLock { _ = $0.cancelled.remove(id) }
    try result.get()
  }
}
