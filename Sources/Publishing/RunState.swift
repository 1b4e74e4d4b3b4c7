import Guarding
import Synchronization

/// One run of a source: its number, its signal to stop, and the subscriptions of its activation.
final class RunState: Sendable {
  private enum State {
    /// The activation has not returned yet. The value holds the subscriptions that it has made up to now.
    case activating([Subscription])
    case active(Subscription)
    /// The run was stopped or finished before the activation returned. `then` runs after the activation has returned.
    case overtaken(then: Callback)
    case released
  }

  let id: Int
  /// The signal to stop; `nil` for an activation, which does not need one.
  let stop: StopSignal?
  private let hasShownLife = Atomic(false)
  private let state = Guarded(State.activating([]))

  init(id: Int, isRead: Bool) {
    self.id = id
    stop = isRead ? StopSignal() : nil
  }

  var isFirstSignOfLife: Bool {
    // This property is read for every value. The plain load keeps the cache line shared between the processor's cores.
    if hasShownLife.load(ordering: .relaxed) { return false }
    return !hasShownLife.exchange(true, ordering: .relaxed)
  }

  /// Whether the run has been stopped or finished. Only for a run of an activation.
  var isOver: Bool {
    state.withLock { state in
      switch state {
      case .activating, .active: false
      case .overtaken, .released: true
      }
    }
  }

  /// Holds a subscription that the activation makes before it returns, so that the subscription ends with the run. If
  /// an upstream publisher sends an endless series of values, the activation returns only after the run has ended.
  /// Returns whether the run is already over.
  func holdUntilActivated(_ subscription: Subscription) -> Bool {
    state.withLock { state in
      switch state {
      case .activating(let subscriptions):
        state = .activating(subscriptions + [subscription])
        return false
      case .active: return false
      case .overtaken, .released: return true
      }
    }
  }

  /// Holds the subscription that the activation returned. If the run is already over, returns the action that the
  /// caller must run after it has cancelled `held`.
  func hold(_ held: Subscription) -> Callback? {
    // The earlier subscriptions are released without the lock, because releasing a subscription ends it.
    let (then, _): (Callback?, [Subscription]) = state.withLock { state in
      switch state {
      case .activating(let subscriptions):
        state = .active(held)
        return (nil, subscriptions)
      case .overtaken(let then):
        state = .released
        return (then, [])
      case .active, .released: return (nil, [])
      }
    }
    return then
  }

  enum Held {
    /// The subscription that the activation returned.
    case whole(Subscription)
    /// The subscriptions of an activation that has not returned.
    case begun([Subscription])
    /// Nothing, because the run has already released its subscriptions.
    case nothing
  }

  /// Returns the subscriptions that the run holds. A second call returns none. If the activation has not returned yet,
  /// `action` runs after it returns.
  func release(orElse action: @escaping @Sendable () -> Void) -> Held {
    state.withLock { state in
      switch state {
      case .active(let held):
        state = .released
        return .whole(held)
      case .activating(let subscriptions):
        state = .overtaken(then: Callback(action))
        return .begun(subscriptions)
      case .overtaken, .released: return .nothing
      }
    }
  }
}
