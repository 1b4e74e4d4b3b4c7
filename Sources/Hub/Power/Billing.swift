import Guarding
import Publishing

/// Has the books of a hub's devices know for whom these are held, whenever that may have changed.
final class Billing: Sendable {
  private struct State {
    var isOver = false
    var known = KnownPayers(bridge: Hub.bridgeName)
  }

  /// One at a time, so that the last to look says what is.
  private let state = Guarded(State())
  private let lifetime = Lifetime()

  /// - Parameter changes: of who holds a device, or what is derived from it
  func follow(_ changes: some Publisher<some Sendable, Never>, of hub: Hub) {
    changes.subscribe(
      as: "bills",
      receiveValue: { [weak hub, weak self] _ in
        // Nothing that this asks for waits for it: a holder's list is read, and a device's books take a lock of their own.
        self?.state.withLock { state in if !state.isOver { hub?.bill(&state.known) } }
      }
    ).store(in: lifetime)
  }

  func end() {
    lifetime.end()
    state.withLock { $0 = State(isOver: true) }
  }
}
