/// The addresses and the port of an output, and its permitted clients.
public struct TCPEndpoint: Equatable, Sendable {
  /// The addresses of this machine, at least one.
  public var addresses: [IPAddress]
  public var port: UInt16
  /// The other machines that may connect.
  public var allow: [IPNetwork]
  /// The maximum number of clients at a time over all addresses; `nil` if the output has its own limits.
  public var clients: Int?

  /// The listening sockets.
  public var sockets: [TCPAddress] { addresses.map { TCPAddress(address: $0, port: port) } }

  /// Whether only this machine can connect.
  public var isLoopback: Bool { addresses.allSatisfy(\.isLoopback) }

  public func admits(_ client: IPAddress) -> Bool { client.isLoopback || allow.contains { $0.contains(client) } }

  /// A description of the permitted clients: `this machine`, followed by the permitted networks.
  public var audience: String {
    (["this machine"] + (isLoopback ? [] : allow.map(\.description))).joined(separator: ", ")
  }
}

extension TCPEndpoint: CustomStringConvertible {
  public var description: String { sockets.map(\.description).joined(separator: ", ") }
}

extension TCPEndpoint {
  /// - Parameters:
  ///   - standard: the default port
  ///   - clients: the default maximum number of clients; `nil` if it is not configurable
  ///   - hasPasswords: whether clients have passwords, so that networks need not be named
  init(
    _ section: inout BoardSection, port standard: UInt16, clients: Int? = nil, hasPasswords: Bool = false
  ) throws(BoardError) {
    port = try section.integer("port", in: 1...65535).map { UInt16($0) } ?? standard
    if let clients { self.clients = try section.integer("clients", in: 1...10_000) ?? clients }
    addresses = try TCPEndpoint.addresses(&section)
    allow = []
    for text in try section.strings("allow") ?? [] {
      guard let network = IPNetwork(text) else {
        throw section.wrong("allow", expected: "networks, such as [\"192.168.1.0/24\"]")
      }
      allow.append(network)
    }
    // The protocol has no passwords, so opening it to other machines takes two settings, `address` and `allow`.
    if let open = addresses.first(where: { !$0.isLoopback }), allow.isEmpty, !hasPasswords {
      throw section.wrong(
        "allow",
        expected: "the networks that may connect, such as [\"192.168.1.0/24\"]: \(open) is open to other machines")
    }
  }

  private static func addresses(_ section: inout BoardSection) throws(BoardError) -> [IPAddress] {
    let texts = try section.stringOrStrings("address") ?? ["127.0.0.1"]
    var addresses: [IPAddress] = []
    for text in texts {
      guard let address = IPAddress(text) else {
        throw section.wrong(
          "address", expected: "IP addresses of this machine, such as \"0.0.0.0\" or [\"127.0.0.1\", \"::1\"]")
      }
      if !addresses.contains(address) { addresses.append(address) }
    }
    guard !addresses.isEmpty else { throw section.wrong("address", expected: "at least one address") }
    // On one port, a socket on every address conflicts with a socket on a single address. A socket on every IPv6
    // address also conflicts with those on IPv4 addresses.
    if addresses.contains(.anyIPv6) { return [.anyIPv6] }
    if addresses.contains(.anyIPv4) { addresses.removeAll { $0.bytes.count == 4 && $0 != .anyIPv4 } }
    return addresses
  }
}
