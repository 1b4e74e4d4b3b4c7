import Fusion
import Guarding
import Hub
import Publishing
import ServiceLifecycle

/// Deltas for the Signal K servers that the board file names.
///
/// The hub cannot know whether a client of a server uses its values, so by default this output powers no device: it
/// sends while other clients keep the devices awake. With `keepsAwake` in the board file, it keeps the devices awake
/// itself.
public final class SignalKServerOutput: Service {
  private let host: HubHost
  private let sink: JournalSink
  /// The settings of the servers, and their subscriptions and threads.
  private struct Present {
    let servers: [SignalKServer]
    let lifetime: Lifetime
  }

  private let present = Guarded<Present?>(nil)

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let boards = host.hub.registry.subscribe(as: "signalk servers", receiveValue: { [self] in serve($0.board) })
    await untilShutdown()
    boards.cancel()
    replace(with: nil)
  }

  private func replace(with new: Present?) {
    present.withLock { present in
      defer { present = new }
      return present
    }?.lifetime.end()
  }

  private func serve(_ board: Board) {
    let servers = board.signalKServers
    if present.withLock({ $0?.servers ?? [] }) == servers { return }
    replace(with: nil)
    let hub = host.hub
    let lifetime = Lifetime()
    for server in servers {
      let link = SignalKLink(server, version: host.version, traffic: host.traffic.signalK, sink: sink)
      let send = { @Sendable (state: FusedState) in
        link.send(state, lastKnown: state.position == nil ? hub.lastKnownPosition : nil)
      }
      let holder = Holder("signalk \(server)")
      let states =
        server.keepsAwake
        ? hub.state(rateHz: SignalKSender.rateHz, parts: server.parts).subscribe(as: holder, receiveValue: send)
        : hub.lastState.subscribe(as: holder, receiveValue: { if let state = $0 { send(state) } })
      states.store(in: lifetime)
      Subscription { link.end() }.store(in: lifetime)
      link.start()
    }
    replace(with: Present(servers: servers, lifetime: lifetime))
  }
}
