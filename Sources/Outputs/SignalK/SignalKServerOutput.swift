import Fusion
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// Deltas for the Signal K servers that the board file names. Each server is a `Peer`.
public final class SignalKServerOutput: Service {
  private let host: HubHost
  private let sink: JournalSink
  private let tokens: SignalKTokens
  private let clock: any MonotonicTimeSource

  /// The settings that require new connections if they change.
  private struct Settings: Equatable {
    let servers: [SignalKServer]
    let isSimulated: Bool
  }

  /// - Parameter tokens: the tokens that servers have given to the hub
  public convenience init(host: HubHost, sink: JournalSink, tokens: SignalKTokens) {
    self.init(host: host, sink: sink, tokens: tokens, clock: MonotonicClock())
  }

  /// - Parameter clock: the clock of the connections: of their limits, and of the pauses between attempts
  init(host: HubHost, sink: JournalSink, tokens: SignalKTokens, clock: any MonotonicTimeSource) {
    self.host = host
    self.sink = sink
    self.tokens = tokens
    self.clock = clock
  }

  public func run() async throws {
    let hub = host.hub
    await hub.servePeers(as: "signalk servers") { board in
      // Deltas cannot say that a value is simulated, so a boat would be shown at a simulated position.
      Settings(servers: board.signalKServers, isSimulated: hub.origin != .real)
    } connect: { [self] settings in
      settings.servers.compactMap { connect($0, isSimulated: settings.isSimulated) }
    }
  }

  private func connect(_ server: SignalKServer, isSimulated: Bool) -> Peer? {
    if isSimulated {
      guard server.takesSimulated else {
        sink.write(
          .warning,
          "Signal K: nothing is sent to \(server), because devices of the board are simulated; 'simulated: true' in "
            + "the board file is for a test server")
        return nil
      }
      sink.write(.warning, "Signal K: SIMULATED values go to \(server)")
    }
    let hub = host.hub
    let access = SignalKAccess(
      to: server, version: host.version, name: "SensorHub \(hub.board.name)", tokens: tokens, sink: sink)
    let link = SignalKLink(
      server, access, version: host.version, traffic: host.traffic.signalK, sink: sink, clock: clock)
    let states = hub.sendStates(
      as: Holder("signalk \(server)"), keepsAwake: server.keepsAwake, rateHz: SignalKSender.rateHz, parts: server.parts
    ) { link.send($0, lastKnown: $0.position == nil ? hub.lastKnownPosition : nil) }
    return Peer(values: states, link: link)
  }
}
