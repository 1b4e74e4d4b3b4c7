import Guarding
import Synchronization

/// One run of a source.
final class SourceRun: Sendable {
  private enum State {
    /// The activation has not returned. It has subscribed to these so far.
    case activating([Subscription])
    case active(Subscription)
    /// Stopped or finished before the activation returned: the action is due once it has.
    case overtaken(then: Callback)
    case released
  }

  let id: Int
  /// Only a source that is read from needs one.
  let stop: StopSignal?
  private let hasShownLife = Atomic(false)
  private let state = Guarded(State.activating([]))

  init(id: Int, isRead: Bool) {
    self.id = id
    stop = isRead ? StopSignal() : nil
  }

  var isFirstSignOfLife: Bool {
    // The plain load keeps the cache line shared: this is asked for every value.
    if hasShownLife.load(ordering: .relaxed) { return false }
    return !hasShownLife.exchange(true, ordering: .relaxed)
  }

  /// Whether it has been stopped or finished. Only for a run of an activation.
  var isOver: Bool {
    state.withLock { state in
      switch state {
      case .activating, .active: false
      case .overtaken, .released: true
      }
    }
  }

  /// Takes what the activation subscribes to on the way: it is to end with the run even where the activation does not
  /// return before, because what it subscribes to sends without end. Returns whether the run is over already.
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

  /// Takes what the activation returned. Where the run is over already, returns the action that is due once the
  /// caller has cancelled it.
  func hold(_ held: Subscription) -> Callback? {
    // What was held until now is let go of without the lock: dropping a subscription ends it.
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
    /// What the activation returned.
    case whole(Subscription)
    /// What the activation, which has not returned, subscribed to so far.
    case begun([Subscription])
    /// Nothing any more.
    case nothing
  }

  /// Returns what is held, once. Where the activation has not returned yet, `action` will follow its return.
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
