/// The destination of datagrams: a machine, all of a network (broadcast), or a group (multicast).
public struct UDPTarget: Equatable, Sendable {
  public var address: IPAddress
  public var port: UInt16
  /// The network interface for a group, such as `wlan0`; `nil` for the one that the routes determine.
  public var interface: String?
  /// Whether the output is a subscription, which keeps the devices awake. Otherwise it sends only while other clients
  /// keep the devices awake.
  public var keepsAwake: Bool

  var isMulticast: Bool {
    address.bytes.count == 4 ? address.bytes[0] & 0xf0 == 0xe0 : address.bytes[0] == 0xff
  }
}

extension UDPTarget: CustomStringConvertible {
  public var description: String {
    "\(TCPAddress(address: address, port: port))\(interface.map { " via \($0)" } ?? "")"
  }
}

extension UDPTarget {
  /// - Parameter text: for example `192.168.1.255:10110` or `[ff02::1]:10110`
  init(_ text: String, _ section: inout BoardSection) throws(BoardError) {
    let expected = "an address and a port, such as \"192.168.1.255:10110\" or \"[ff02::1]:10110\""
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
      throw section.wrong("udp", expected: expected)
    }
    let host = text[..<colon]
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    guard let address = IPAddress(String(isBracketed ? host.dropFirst().dropLast() : host)),
      isBracketed == (address.bytes.count == 16)
    else { throw section.wrong("udp", expected: expected) }
    self.address = address
    self.port = port
    interface = try section.string("interface")
    keepsAwake = try section.boolean("keepsAwake") ?? false
    if interface != nil, !isMulticast {
      throw section.wrong("interface", expected: "left out: only a multicast address needs an interface")
    }
  }
}
