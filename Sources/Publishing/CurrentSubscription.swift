import Guarding

/// Holds one subscription upstream at a time, hears only the current one, and knows when the last one has completed.
final class CurrentSubscription: Sendable {
  fileprivate struct State {
    var subscription: Subscription?
    var generation = 0
    /// The current one has not completed, or is about to be made.
    var isOpen: Bool
    /// No other one will come.
    var isClosed = false
    var isOver = false
  }

  /// What a subscription is told by from those that replace it.
  struct Place: Sendable {
    fileprivate let withCurrent: @Sendable (_ body: (inout State) -> Void) -> Void

    /// Whether `isTrue`, asked while the subscription cannot be replaced; no where it has been.
    func isCurrent(and isTrue: () -> Bool) -> Bool {
      var result = false
      withCurrent { _ in result = isTrue() }
      return result
    }

    /// It has completed. Returns whether it was the last one; `nil` where it has been replaced, and its end means nothing.
    func complete() -> Bool? {
      var isLast: Bool?
      withCurrent { state in
        state.isOpen = false
        isLast = state.isClosed
      }
      return isLast
    }
  }

  private let state: Guarded<State>

  /// - Parameter isExpected: whether the first subscription is about to be made
  init(isExpected: Bool) { state = Guarded(State(isOpen: isExpected)) }

  /// Ends the present subscription and makes the next.
  func replace(_ subscribe: (Place) -> Subscription) {
    let (old, generation): (Subscription?, Int?) = state.withLock { state in
      let old = state.subscription
      state.subscription = nil
      guard !state.isOver else { return (old, nil) }
      state.generation += 1
      state.isOpen = true
      return (old, state.generation)
    }
    old?.cancel()
    guard let generation else { return }
    let place = Place { [weak self] body in
      self?.state.withLock { state in if state.generation == generation { body(&state) } }
    }
    let new = subscribe(place)
    let leftover = state.withLock { state in
      if state.isOver || state.generation != generation { return Optional(new) }
      state.subscription = new
      return nil
    }
    leftover?.cancel()
  }

  /// The present subscription is the last one. Returns whether it has completed already.
  func close() -> Bool {
    state.withLock { state in
      state.isClosed = true
      return !state.isOpen
    }
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
