import Fusion
import MonotonicTime

/// The last time that the receiver stated. Without satellites many state none, and the monotonic clock goes on from there.
struct LastTime {
  private var last: (utcNanoseconds: Int64, at: MonotonicInstant)?

  /// Takes the next state; returns it with a time where its last epoch has none.
  mutating func complete(_ state: FusedState) -> FusedState {
    guard let fix = state.fix else { return state }
    if let utc = fix.value.utcNanoseconds {
      if last.map({ $0.at < fix.at }) ?? true { last = (utc, fix.at) }
      return state
    }
    guard let last else { return state }
    var state = state
    state.fix?.value.utcNanoseconds = last.utcNanoseconds + (fix.at.nanoseconds - last.at.nanoseconds)
    return state
  }
}
