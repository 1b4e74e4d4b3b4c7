import Fusion
import Hub
import Publishing

/// The hub that is in service. A new board file puts another one in its place; whoever listens to this host's state
/// stays subscribed and gets the new hub's.
public final class HubHost: Sendable {
  private enum Reload: Equatable { case board }

  private let current: MutableProperty<Hub>
  private let reload = Trigger<Reload>()

  public init(_ hub: Hub) { current = MutableProperty(hub) }

  /// The hub in service, and the ones after it.
  public var hub: Property<Hub> { current.readOnly }

  /// Puts a new hub into service. The old one's devices are powered off without lingering: the new one may need them.
  /// Returns what went wrong with the new one's power lines, which may not be those of the old one.
  public func replace(with hub: Hub) async -> [String] {
    let old = current.value
    old.shutDown()
    // Two hubs must never drive one line: the new one appears when the old one has let go of everything.
    await old.isOff()
    let problems = hub.makeSafe()
    current.value = hub
    reload.activate(.board)
    return problems
  }

  /// The fused state, at most so many times a second. Subscribing powers the devices.
  ///
  /// - Parameter rateHz: `nil` for the board's own rate
  public func state(rateHz: Double?) -> Deferred<FusedState, Never> {
    Deferred { [current] _ in
      let hub = current.value
      return hub.state(rateHz: rateHz ?? hub.board.stateRateHz)
    }.publishAndRepeat(onOutputFrom: reload.signal(for: .board))
  }
}
