import Guarding

/// Holds one subscription upstream at a time and hears only the current one.
final class CurrentSubscription: Sendable {
  private struct State {
    var subscription: Subscription?
    var generation = 0
    var isOver = false
  }

  private let state = Guarded(State())

  /// Ends the present subscription and makes the next.
  ///
  /// - Parameter subscribe: given a test of whether what arrives is still wanted
  func replace(_ subscribe: (_ isCurrent: @escaping @Sendable () -> Bool) -> Subscription) {
    let (old, generation): (Subscription?, Int?) = state.withLock { state in
      let old = state.subscription
      state.subscription = nil
      guard !state.isOver else { return (old, nil) }
      state.generation += 1
      return (old, state.generation)
    }
    old?.cancel()
    guard let generation else { return }
    let new = subscribe { [weak self] in self?.state.withLock { $0.generation == generation } ?? false }
    let leftover = state.withLock { state in
      if state.isOver || state.generation != generation { return Optional(new) }
      state.subscription = new
      return nil
    }
    leftover?.cancel()
  }

  /// Ends the present subscription and refuses further ones.
  func end() {
    let old = state.withLock { state in
      state.isOver = true
      state.generation += 1
      defer { state.subscription = nil }
      return state.subscription
    }
    old?.cancel()
  }

  deinit { end() }
}
