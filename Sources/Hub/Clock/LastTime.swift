import Fusion
import Guarding
import MonotonicTime

/// The last time that the receivers stated. Without satellites many state none, and the monotonic clock goes on from there.
final class LastTime: Sendable {
  struct Stated: Sendable {
    fileprivate var utcNanoseconds: Int64
    fileprivate var at: MonotonicInstant
  }

  private let last = Guarded<Stated?>(nil)

  /// What is known; `nil` for nothing.
  var stated: Stated? {
    get { last.withLock { $0 } }
    set { last.withLock { $0 = newValue } }
  }

  /// Takes the next state; returns it with a time where its last epoch has none.
  func complete(_ state: FusedState) -> FusedState {
    guard let fix = state.fix else { return state }
    return last.withLock { last in
      if let utc = fix.value.utcNanoseconds {
        if last.map({ $0.at < fix.at }) ?? true { last = Stated(utcNanoseconds: utc, at: fix.at) }
        return state
      }
      guard let last else { return state }
      var state = state
      state.fix?.value.utcNanoseconds = last.utcNanoseconds + (fix.at.nanoseconds - last.at.nanoseconds)
      return state
    }
  }
}
