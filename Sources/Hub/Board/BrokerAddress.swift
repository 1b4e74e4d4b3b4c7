import HardwareIO

/// The address of an MQTT broker: `mqtts://broker.example:8883`.
public struct BrokerAddress: Equatable, Sendable {
  /// A host name, or an address without brackets.
  public var host: String
  public var port: UInt16
  /// Whether TLS is used, with a check of the broker's certificate.
  public var isEncrypted: Bool

  public init(host: String, port: UInt16? = nil, isEncrypted: Bool) {
    self.host = host
    self.port = port ?? (isEncrypted ? 8883 : 1883)
    self.isEncrypted = isEncrypted
  }

  /// - Parameter text: `mqtt://` or `mqtts://`, a host, and a port if it is not 1883 (8883 with TLS)
  public init?(_ text: String) {
    let isEncrypted = text.hasPrefix("mqtts://")
    guard isEncrypted || text.hasPrefix("mqtt://"), let scheme = text.firstRange(of: "://") else { return nil }
    guard let place = HostPort(text[scheme.upperBound...]) else { return nil }
    self.init(host: place.host, port: place.port, isEncrypted: isEncrypted)
  }

  /// The host's IP address; `nil` if the host is a name.
  public var address: IPAddress? { IPAddress(host) }

  /// Whether the broker is on this machine.
  public var isLoopback: Bool { host == "localhost" || address?.isLoopback == true }
}

extension BrokerAddress: CustomStringConvertible {
  public var description: String {
    "\(isEncrypted ? "mqtts" : "mqtt")://\(HostPort.text(host, port))"
  }
}
