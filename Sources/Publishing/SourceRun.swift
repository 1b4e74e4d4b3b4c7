import Guarding
import Synchronization

/// One run of a source.
final class SourceRun: Sendable {
  private enum State {
    case activating
    case active(Subscription)
    /// Stopped or finished before the activation returned: the action is due once it has.
    case overtaken(then: @Sendable () -> Void)
    case released
  }

  let id: Int
  /// Only a source that is read from needs one.
  let stop: StopSignal?
  private let hasShownLife = Atomic(false)
  private let state = Guarded(State.activating)

  init(id: Int, isRead: Bool) {
    self.id = id
    stop = isRead ? StopSignal() : nil
  }

  var isFirstSignOfLife: Bool {
    // The plain load keeps the cache line shared: this is asked for every value.
    if hasShownLife.load(ordering: .relaxed) { return false }
    return !hasShownLife.exchange(true, ordering: .relaxed)
  }

  /// Takes what the activation returned. Where the run is over already, returns the action that is due once the
  /// caller has cancelled it.
  func hold(_ held: Subscription) -> (@Sendable () -> Void)? {
    state.withLock { state in
      switch state {
      case .activating:
        state = .active(held)
        return nil
      case .overtaken(let then):
        state = .released
        return then
      case .active, .released: return nil
      }
    }
  }

  /// Returns what is held, once. Where the activation has not returned yet, `action` will follow its return.
  func release(orElse action: @escaping @Sendable () -> Void) -> Subscription? {
    state.withLock { state in
      switch state {
      case .active(let held):
        state = .released
        return held
      case .activating:
        state = .overtaken(then: action)
        return nil
      case .overtaken, .released: return nil
      }
    }
  }
}
