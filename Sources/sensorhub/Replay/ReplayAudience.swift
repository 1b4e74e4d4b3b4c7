import Fusion
import Guarding
import Hub
import Publishing
import Recording

/// Wants of a replay what was wanted when it was recorded, and takes the states: devices are decoded for as long as they were at
/// work, heard for as long as somebody listened to them, and the estimate begins anew where it did.
final class ReplayAudience: Sendable {
  private struct State {
    var hub: Hub
    var demand = ReplayDemand()
    var runs: [String: Subscription] = [:]
    var devices: [String: Subscription] = [:]
    var states: Subscription?
  }

  /// What is wanted of the states all the time. Of sensors all that was recorded was heard by somebody. A receiver is recorded while it
  /// lingers as well, when nobody hears it: that is held as it was, and this must not wake it.
  static let parts: Set<StatePart> = [.attitude, .rates, .acceleration, .magneticField, .pressure, .supply]

  private let states: Deferred<FusedState, Never>
  private let receive: Receive
  private let state: Guarded<State>

  private struct Receive: Sendable { let state: @Sendable (FusedState) -> Void }

  /// - Parameter states: of `parts`
  init(
    _ hub: Hub, states: Deferred<FusedState, Never>, receive: @escaping @Sendable (FusedState) -> Void
  ) {
    state = Guarded(State(hub: hub))
    self.states = states
    self.receive = Receive(state: receive)
  }

  // Both are called by the one thread that plays.

  /// Wants the same of the hub of another board.
  func move(to hub: Hub) {
    let before = state.withLock { state in
      defer { (state.hub, state.runs, state.devices) = (hub, [:], [:]) }
      return state
    }
    hold(before.demand)
    // Until here they were kept: what both boards have goes on.
    for subscription in before.devices.values { subscription.cancel() }
    for subscription in before.runs.values { subscription.cancel() }
  }

  /// Wants what was wanted from here on.
  func want(_ demand: ReplayDemand) {
    let run = state.withLock { state in
      defer { state.demand = demand }
      return state.demand.run
    }
    hold(demand)
    if demand.run != run {
      state.withLock { $0.states }?.cancel()
      var new: Subscription?
      if demand.run != nil { new = states.subscribe(as: "replay", receiveValue: { [receive] in receive.state($0) }) }
      state.withLock { [new] in $0.states = new }
    }
    let present = state.withLock { $0 }
    for (id, subscription) in present.devices where !demand.devices.contains(id) {
      subscription.cancel()
      state.withLock { $0.devices[id] = nil }
    }
    for (id, subscription) in present.runs where !demand.supplied.contains(id) {
      subscription.cancel()
      state.withLock { $0.runs[id] = nil }
    }
  }

  /// Holds what is demanded and not held yet, as far as the board has it.
  private func hold(_ demand: ReplayDemand) {
    let present = state.withLock { $0 }
    for id in demand.supplied where present.runs[id] == nil {
      let run = present.hub.keepRunning(id, as: "replay")
      state.withLock { $0.runs[id] = run }
    }
    for id in demand.devices where present.devices[id] == nil {
      let device = present.hub.wakefulness(of: id)?.subscribe(as: "replay", receiveValue: { _ in })
      state.withLock { $0.devices[id] = device }
    }
  }
}
