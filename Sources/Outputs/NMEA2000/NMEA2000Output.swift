import Fusion
import Guarding
import HardwareIO
import Hub
import Publishing
import ServiceLifecycle

/// NMEA 2000 on a CAN interface, for plotters, displays and autopilots of boats.
///
/// The hub cannot know whether a device on the bus uses its values, so by default this output powers no device: it sends
/// while other clients keep the devices awake. With `keepsAwake` in the board file, it keeps the devices awake itself.
public final class NMEA2000Output: Service {
  /// The rate of states. The most frequent messages have this rate.
  private static let rateHz = 10.0

  private let host: HubHost
  private let sink: JournalSink
  private let open: NMEA2000Link.Opener
  private let patience: Duration
  /// The settings of the interface, and its subscription and thread.
  private struct Present {
    let port: Board.NMEA2000Port
    let isAllowed: Bool
    let lifetime: Lifetime
  }

  private let present = Guarded<Present?>(nil)

  public convenience init(host: HubHost, sink: JournalSink) {
    self.init(host: host, sink: sink) { (interface) throws(HardwareError) in
      try LinuxCANSocket(
        interface, identifiers: NMEA2000Node.identifiers, mask: NMEA2000Node.identifierMask)
    }
  }

  /// - Parameters:
  ///   - patience: how long a bus may take no frame until it counts as silent
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
    let boards = host.hub.registry.subscribe(as: "nmea2000", receiveValue: { [self] in serve($0.board) })
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
    guard let port = board.nmea2000 else { return replace(with: nil) }
    let hub = host.hub
    // Most messages cannot say that a value is simulated, and an autopilot would follow it.
    let isAllowed = hub.origin == .real || port.isVirtual
    if present.withLock({ $0?.port == port && $0?.isAllowed == isAllowed }) { return }
    let lifetime = Lifetime()
    guard isAllowed else {
      sink.write(
        .warning,
        "NMEA 2000: nothing is sent to \(port.interface), because devices of the board are simulated; a virtual "
          + "interface (vcan0) gets simulated values")
      return replace(with: Present(port: port, isAllowed: false, lifetime: lifetime))
    }
    // The old node leaves the bus first, because two nodes with one name would compete for the address.
    replace(with: nil)
    let link = NMEA2000Link(
      port, version: host.version, traffic: host.traffic.nmea, sink: sink, patience: patience, open: open)
    let send = { @Sendable (state: FusedState) in link.send(state) }
    let holder = Holder("nmea2000 \(port.interface)")
    let states =
      port.keepsAwake
      ? hub.state(rateHz: NMEA2000Output.rateHz, parts: port.parts).subscribe(as: holder, receiveValue: send)
      : hub.lastState.subscribe(as: holder, receiveValue: { if let state = $0 { send(state) } })
    states.store(in: lifetime)
    Subscription { link.end() }.store(in: lifetime)
    link.start()
    replace(with: Present(port: port, isAllowed: true, lifetime: lifetime))
  }
}
