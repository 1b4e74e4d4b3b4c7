import Guarding

/// Holds one upstream subscription at a time, ignores events of replaced subscriptions, and detects when the last one
/// has completed.
final class CurrentSubscription: Sendable {
  fileprivate struct State {
    var subscription: Subscription?
    var generation = 0
    /// Whether the current subscription is still open or is about to be made.
    var isOpen: Bool
    /// Whether the current subscription is the last one.
    var isClosed = false
    var isOver = false
  }

  /// The link from a subscription to its owner. It stops working once the subscription has been replaced.
  struct Link: Sendable {
    fileprivate let withCurrent: @Sendable (_ body: (inout State) -> Void) -> Void

    /// Returns the result of `isTrue`. No other subscription can replace this one while `isTrue` runs. Returns `false`
    /// if one has already replaced it.
    func isCurrent(and isTrue: () -> Bool) -> Bool {
      var result = false
      withCurrent { _ in result = isTrue() }
      return result
    }

    /// Records that the subscription has completed. Returns whether it was the last one, or `nil` if it has been
    /// replaced and its completion is irrelevant.
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

  /// Cancels the current subscription and makes the next one.
  ///
  /// - Parameter overlaps: whether the current subscription is cancelled only after the next one has been made. Its
  ///   events are ignored in between.
  func replace(overlaps: Bool = false, _ subscribe: (Link) -> Subscription) {
    let (old, generation): (Subscription?, Int?) = state.withLock { state in
      let old = state.subscription
      state.subscription = nil
      guard !state.isOver else { return (old, nil) }
      state.generation += 1
      state.isOpen = true
      return (old, state.generation)
    }
    if !overlaps || generation == nil { old?.cancel() }
    defer { if overlaps { old?.cancel() } }
    guard let generation else { return }
    let link = Link { [weak self] body in
      self?.state.withLock { state in if state.generation == generation { body(&state) } }
    }
    let new = subscribe(link)
    let leftover = state.withLock { state in
      if state.isOver || state.generation != generation { return Optional(new) }
      state.subscription = new
      return nil
    }
    leftover?.cancel()
  }

  /// Declares the current subscription the last one. Returns whether it has already completed.
  func close() -> Bool {
    state.withLock { state in
      state.isClosed = true
      return !state.isOpen
    }
  }

  /// Cancels the current subscription and refuses further ones.
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
