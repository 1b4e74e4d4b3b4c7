import HardwareIO
import Hub
import Publishing
import ServiceLifecycle

/// NMEA 2000 on a CAN interface, for plotters, displays and autopilots of boats. The bus is a `Peer`.
public final class NMEA2000Output: Service {
  /// The rate of states. The most frequent messages have this rate.
  private static let rateHz = 10.0

  private let host: HubHost
  private let sink: JournalSink
  private let open: NMEA2000Link.Opener
  private let patience: Duration

  /// The settings that require a new connection if they change.
  private struct Settings: Equatable {
    let port: Board.NMEA2000Port
    let isAllowed: Bool
  }

  public convenience init(host: HubHost, sink: JournalSink) {
    self.init(host: host, sink: sink) { (interface) throws(HardwareError) in
      try LinuxCANSocket(
        interface, identifiers: NMEA2000Node.identifiers, mask: NMEA2000Node.identifierMask)
    }
  }

  /// - Parameters:
  ///   - patience: how long a bus may accept no frame before it counts as silent
  ///   - open: opens a bus by the name of its interface
  init(
    host: HubHost, sink: JournalSink, patience: Duration = NMEA2000Link.usualPatience,
    open: @escaping NMEA2000Link.Opener
  ) {
    self.patience = patience
    self.host = host
    self.sink = sink
    self.open = open
  }

  public func run() async throws {
    let hub = host.hub
    await hub.servePeers(as: "nmea2000") { board in
      // Most messages cannot say that a value is simulated, so an autopilot would steer by simulated values.
      board.nmea2000.map { Settings(port: $0, isAllowed: hub.origin == .real || $0.isVirtual) }
    } connect: { [self] settings in
      connect(settings)
    }
  }

  private func connect(_ settings: Settings) -> [Peer] {
    let port = settings.port
    guard settings.isAllowed else {
      sink.write(
        .warning,
        "NMEA 2000: nothing is sent to \(port.interface), because devices of the board are simulated; a virtual "
          + "interface (vcan0) gets simulated values")
      return []
    }
    let link = NMEA2000Link(
      port, version: host.version, traffic: host.traffic.nmea, sink: sink, patience: patience, open: open)
    let states = host.hub.sendStates(
      as: Holder("nmea2000 \(port.interface)"), keepsAwake: port.keepsAwake, rateHz: NMEA2000Output.rateHz,
      parts: port.parts
    ) { link.send($0) }
    return [Peer(values: states, link: link)]
  }
}
