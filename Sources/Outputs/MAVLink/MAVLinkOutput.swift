import Guarding
import HardwareIO
import Hub
import Publishing
import ServiceLifecycle

/// MAVLink 2 over UDP or a serial port, for autopilots (ArduPilot, PX4). The autopilot is a `Peer`.
public final class MAVLinkOutput: Service {
  private let host: HubHost
  private let sink: JournalSink
  private let open: MAVLinkLink.Opener
  /// Set when the latest thread has closed its port.
  private let closed = Guarded<StopSignal?>(nil)

  /// The settings that require a new connection if they change.
  private struct Settings: Equatable {
    let port: MAVLinkPort
    let isSimulated: Bool
  }

  public convenience init(host: HubHost, sink: JournalSink) {
    self.init(host: host, sink: sink) { (line) throws(HardwareError) in try MAVLinkOutput.open(line) }
  }

  /// - Parameter open: opens the connection to the autopilot
  init(host: HubHost, sink: JournalSink, open: @escaping MAVLinkLink.Opener) {
    self.host = host
    self.sink = sink
    self.open = open
  }

  private static func open(_ line: MAVLinkPort.Line) throws(HardwareError) -> any SerialPort {
    switch line {
    case .serial(let path, let speed): return try LinuxSerialPort(path, speed: speed)
    case .datagrams:
      guard let peer = NetworkSource("\(line)") else { throw .unsupported("\(line) is not an address") }
      return try DatagramPort(to: peer)
    }
  }

  public func run() async throws {
    let hub = host.hub
    await hub.servePeers(as: "mavlink") { board in
      // The messages cannot say that a value is simulated, so an autopilot would steer by simulated values.
      board.mavlink.map { Settings(port: $0, isSimulated: hub.origin != .real) }
    } connect: { [self] settings in
      connect(settings)
    }
  }

  private func connect(_ settings: Settings) -> [Peer] {
    let port = settings.port
    if settings.isSimulated {
      guard port.takesSimulated else {
        sink.write(
          .warning,
          "MAVLink: nothing is sent to \(port.line), because devices of the board are simulated; 'simulated: true' in "
            + "the board file is for an autopilot that is simulated too")
        return []
      }
      sink.write(.warning, "MAVLink: SIMULATED values go to \(port.line)")
    }
    let link = MAVLinkLink(
      port, isSimulated: settings.isSimulated, after: closed.withLock { $0 }, traffic: host.traffic.mavlink, sink: sink,
      open: open)
    closed.withLock { $0 = link.ended }
    let states = host.hub.sendStates(
      as: Holder("mavlink \(port.line)"), keepsAwake: port.keepsAwake, rateHz: max(port.rateHz, 5), parts: port.parts
    ) { link.send($0) }
    return [Peer(values: states, link: link)]
  }
}
