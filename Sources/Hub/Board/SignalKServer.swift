import HardwareIO

/// A Signal K server that the hub connects to and sends deltas to, as in the board file.
public struct SignalKServer: Equatable, Sendable {
  public enum Transport: String, CaseIterable, Sendable {
    /// The server's stream over WebSocket.
    case webSocket = "ws"
    /// The server's stream over WebSocket with TLS.
    case encryptedWebSocket = "wss"
    /// Deltas on lines, without authentication.
    case tcp

    /// The port on which Signal K's own server listens.
    fileprivate var usualPort: UInt16 {
      switch self {
      case .webSocket: 3000
      case .encryptedWebSocket: 3443
      case .tcp: 8375
      }
    }
  }

  /// Which server it is, and how the hub reaches it. Sections with the same identity connect to the same server,
  /// whatever their other settings are.
  public struct ID: Hashable, Sendable {
    public var transport: Transport
    /// A host name, or an address without brackets.
    public var host: String
    public var port: UInt16

    public init(transport: Transport, host: String, port: UInt16) {
      self.transport = transport
      self.host = host
      self.port = port
    }
  }

  /// The path of the WebSocket stream (Signal K specification 1.7, streaming API).
  public static let streamPath = "/signalk/v1/stream"

  /// The section in the board file, for example `signalk` or `signalk[1]`.
  public var key: String
  public var transport: Transport
  public var address: ServerAddress
  /// The file with the token that the server demands for writing; `nil` for none.
  public var tokenFile: String?
  /// Whether the server may get values of simulated devices, because it is a test server.
  public var takesSimulated: Bool
  /// Whether the output is a subscription, which keeps the devices awake. Otherwise it sends only while other clients
  /// keep the devices awake.
  public var keepsAwake: Bool
  /// The parts of the state whose devices the output keeps awake.
  public var parts: Set<StatePart>

  public var id: ID { ID(transport: transport, host: address.host, port: address.port) }
}

extension SignalKServer: CustomStringConvertible {
  public var description: String { "\(transport.rawValue)://\(address.authority)" }
}

extension SignalKServer {
  private static let expected =
    "the address of a server, such as \"ws://boat.local:3000\", \"wss://boat.local:3443\" or \"tcp://boat.local:8375\""

  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    key = section.path
    if let other = ["port", "address", "allow", "clients", "mmsi"].first(where: section.has) {
      throw section.wrong(other, expected: "left out with 'server': a further object in the list opens a port")
    }
    let text: String = try section.required("server")
    guard let scheme = text.firstRange(of: "://"),
      let transport = Transport(rawValue: String(text[..<scheme.lowerBound]))
    else { throw section.wrong("server", expected: SignalKServer.expected) }
    var place = text[scheme.upperBound...]
    if let slash = place.firstIndex(of: "/") {
      guard ["/", SignalKServer.streamPath].contains(String(place[slash...])) else {
        throw section.wrong("server", expected: SignalKServer.expected)
      }
      place = place[..<slash]
    }
    guard let host = HostPort(place) else { throw section.wrong("server", expected: SignalKServer.expected) }
    self.transport = transport
    address = ServerAddress(
      host: host.host, port: host.port ?? transport.usualPort, isEncrypted: transport == .encryptedWebSocket)
    tokenFile = try section.name("tokenFile")
    if tokenFile != nil, transport == .tcp {
      throw section.wrong("tokenFile", expected: "left out, or 'server' ws://…: a TCP port takes no token")
    }
    address.caFile = try section.name("caFile")
    if address.caFile != nil, !address.isEncrypted {
      throw section.wrong("caFile", expected: "left out, or 'server' wss://…: only TLS has certificates")
    }
    takesSimulated = try section.boolean("simulated") ?? false
    keepsAwake = try section.boolean("keepsAwake") ?? false
    let wanted = try section.parts("parts")
    if wanted != nil, !keepsAwake {
      throw section.wrong("parts", expected: "left out without 'keepsAwake': the server wakes no device then")
    }
    parts = wanted ?? .all
    try section.finish()
  }
}
