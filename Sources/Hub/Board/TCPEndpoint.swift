/// Where an output listens, and who may connect.
public struct TCPEndpoint: Equatable, Sendable {
  public var address: IPAddress
  public var port: UInt16
  /// Who else than this machine itself may connect.
  public var allow: [IPNetwork]

  public func admits(_ client: IPAddress) -> Bool { client.isLoopback || allow.contains { $0.contains(client) } }

  /// `this machine`, or the networks too.
  public var audience: String {
    (["this machine"] + (address.isLoopback ? [] : allow.map(\.description))).joined(separator: ", ")
  }
}

extension TCPEndpoint: CustomStringConvertible {
  public var description: String { address.bytes.count == 4 ? "\(address):\(port)" : "[\(address)]:\(port)" }
}

extension TCPEndpoint {
  /// - Parameter hasPasswords: who may connect need not be named
  init(_ section: inout BoardSection, port standard: UInt16, hasPasswords: Bool = false) throws(BoardError) {
    port = UInt16(try section.number("port", in: 1...65535) ?? Double(standard))
    let text = try section.string("address") ?? "127.0.0.1"
    guard let address = IPAddress(text) else {
      throw section.wrong("address", expected: "an IP address of this machine's, such as \"127.0.0.1\" or \"0.0.0.0\"")
    }
    self.address = address
    allow = []
    for text in try section.strings("allow") ?? [] {
      guard let network = IPNetwork(text) else {
        throw section.wrong("allow", expected: "networks, such as [\"192.168.1.0/24\"]")
      }
      allow.append(network)
    }
    // A protocol that knows no passwords: to open it to others has to be said twice.
    if !address.isLoopback, allow.isEmpty, !hasPasswords {
      throw section.wrong(
        "allow",
        expected: "the networks that may connect, such as [\"192.168.1.0/24\"]: \(address) is not this machine alone")
    }
  }
}
