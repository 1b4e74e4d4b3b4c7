import Fusion
import Guarding
import Hub
import Publishing
import Recording

/// Wants of a replay what was wanted when it was recorded, and takes the states: devices are decoded for as long as somebody
/// listened to them, and the estimate begins anew where it did.
final class ReplayAudience: Sendable {
  private struct State {
    var devices: [String: Subscription] = [:]
    var run: Int?
    var states: Subscription?
  }

  private let hub: Hub
  private let states: Deferred<FusedState, Never>
  private let receive: Receive
  private let state = Guarded(State())

  private struct Receive: Sendable { let state: @Sendable (FusedState) -> Void }

  init(
    _ hub: Hub, states: Deferred<FusedState, Never>, receive: @escaping @Sendable (FusedState) -> Void
  ) {
    self.hub = hub
    self.states = states
    self.receive = Receive(state: receive)
  }

  /// Wants what was wanted from here on. Called by the one thread that plays.
  func want(_ demand: ReplayDemand) {
    let present = state.withLock { $0 }
    for id in demand.devices.subtracting(present.devices.keys) {
      guard let subscription = hub.wakefulness(of: id)?.subscribe(as: "replay", receiveValue: { _ in }) else { continue }
      state.withLock { $0.devices[id] = subscription }
    }
    if demand.run != present.run {
      present.states?.cancel()
      var new: Subscription?
      if demand.run != nil { new = states.subscribe(as: "replay", receiveValue: { [receive] in receive.state($0) }) }
      state.withLock { [new] state in
        state.run = demand.run
        state.states = new
      }
    }
    for (id, subscription) in present.devices where !demand.devices.contains(id) {
      subscription.cancel()
      state.withLock { $0.devices[id] = nil }
    }
  }
}
