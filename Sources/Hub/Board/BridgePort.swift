import HardwareIO

extension Board {
  /// The port at which clients exchange bytes with one receiver, as if they were connected to its line.
  public struct BridgePort: Equatable, Sendable {
    public var endpoint: TCPEndpoint
    /// The receiver's ID.
    public var device: String

    public init(endpoint: TCPEndpoint, device: String) {
      self.endpoint = endpoint
      self.device = device
    }
  }
}

extension Board.BridgePort {
  /// Each client gets everything that the receiver sends, so the hub allows only a few clients.
  private static let mostClients = 16

  /// - Parameter devices: the board's devices
  init(_ section: BoardSection, among devices: [DeviceDescription]) throws(BoardError) {
    var section = section
    let receivers = devices.compactMap { device -> ReceiverDescription? in
      if case .receiver(let receiver) = device { receiver } else { nil }
    }
    // Nothing can be sent to a receiver whose sentences come as datagrams, from gpsd or from a modem.
    let able = receivers.filter(\.takesBytes).map(\.id)
    let choices = able.map { "\"\($0)\"" }.joined(separator: " or ")
    let endpoint = try TCPEndpoint(&section, port: 2001, clients: 8)
    guard endpoint.clients ?? 1 <= Board.BridgePort.mostClients else {
      throw section.wrong("clients", expected: "at most \(Board.BridgePort.mostClients)")
    }
    let named = try section.string("device")
    guard !able.isEmpty else {
      throw section.wrong(expected: "left out: the board has no receiver that bytes can be sent to")
    }
    if let named, !able.contains(named) {
      throw section.wrong("device", expected: "a receiver that bytes can be sent to: \(choices)")
    }
    guard let device = named ?? (receivers.count == 1 ? able.first : nil) else {
      throw section.wrong("device", expected: "the receiver of the bridge, as the board has several: \(choices)")
    }
    self.init(endpoint: endpoint, device: device)
    try section.finish()
  }
}
