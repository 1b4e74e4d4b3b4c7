import Fusion
import Guarding
import HardwareIO
import Hub
import Publishing
import ServiceLifecycle

/// MAVLink 2 over UDP or a serial port, for autopilots (ArduPilot, PX4).
///
/// By default this output powers no device: it sends while other clients keep the devices awake. With `keepsAwake` in
/// the board file, it keeps the devices awake itself.
public final class MAVLinkOutput: Service {
  private let host: HubHost
  private let sink: JournalSink
  private let open: MAVLinkLink.Opener
  /// The settings, and the subscription and thread.
  private struct Present {
    let port: MAVLinkPort
    let isSimulated: Bool
    let lifetime: Lifetime
    /// Set when the thread has ended; `nil` without a thread.
    var ended: StopSignal?
  }

  private let present = Guarded<Present?>(nil)

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
      guard let peer = NetworkSource("\(line)") else { throw .unsupported("\(line) is no address") }
      return try DatagramPort(to: peer)
    }
  }

  public func run() async throws {
    let boards = host.hub.registry.subscribe(as: "mavlink", receiveValue: { [self] in serve($0.board) })
    await untilShutdown()
    boards.cancel()
    replace(with: nil)
  }

  /// - Returns: what ended
  @discardableResult
  private func replace(with new: Present?) -> Present? {
    let old = present.withLock { present in
      defer { present = new }
      return present
    }
    old?.lifetime.end()
    return old
  }

  private func serve(_ board: Board) {
    guard let port = board.mavlink else {
      replace(with: nil)
      return
    }
    let hub = host.hub
    // The messages cannot say that a value is simulated, and an autopilot would fly by it.
    let isSimulated = hub.origin != .real
    if present.withLock({ $0?.port == port && $0?.isSimulated == isSimulated }) { return }
    let earlier = replace(with: nil)?.ended
    let lifetime = Lifetime()
    var new = Present(port: port, isSimulated: isSimulated, lifetime: lifetime)
    defer { replace(with: new) }
    if isSimulated {
      guard port.takesSimulated else {
        return sink.write(
          .warning,
          "MAVLink: nothing is sent to \(port.line), because devices of the board are simulated; 'simulated: true' in "
            + "the board file is for an autopilot that is simulated too")
      }
      sink.write(.warning, "MAVLink: SIMULATED values go to \(port.line)")
    }
    let link = MAVLinkLink(
      port, isSimulated: isSimulated, traffic: host.traffic.mavlink, sink: sink, open: open)
    let send = { @Sendable (state: FusedState) in link.send(state) }
    let holder = Holder("mavlink \(port.line)")
    let states =
      port.keepsAwake
      ? hub.state(rateHz: max(port.rateHz, 5), parts: port.parts).subscribe(as: holder, receiveValue: send)
      : hub.lastState.subscribe(as: holder, receiveValue: { if let state = $0 { send(state) } })
    states.store(in: lifetime)
    Subscription { link.end() }.store(in: lifetime)
    link.start(after: earlier)
    new.ended = link.ended
  }
}
