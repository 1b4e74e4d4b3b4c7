import Fusion
import Hub
import Publishing
import ServiceLifecycle

/// Deltas for the Signal K servers that the board file names. Each server is a `Peer`.
public final class SignalKServerOutput: Service {
  private let host: HubHost
  private let sink: JournalSink

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    await host.hub.servePeers(as: "signalk servers", \.signalKServers) { [self] in $0.map(connect) }
  }

  private func connect(_ server: SignalKServer) -> Peer {
    let hub = host.hub
    let link = SignalKLink(server, version: host.version, traffic: host.traffic.signalK, sink: sink)
    let states = hub.sendStates(
      as: Holder("signalk \(server)"), keepsAwake: server.keepsAwake, rateHz: SignalKSender.rateHz, parts: server.parts
    ) { link.send($0, lastKnown: $0.position == nil ? hub.lastKnownPosition : nil) }
    return Peer(values: states, link: link)
  }
}
