import HardwareIO

/// Where an MQTT broker is: `mqtts://broker.example:8883`.
public struct BrokerAddress: Equatable, Sendable {
  /// A name, or an address without brackets.
  public var host: String
  public var port: UInt16
  /// By TLS, with the broker's certificate checked.
  public var isEncrypted: Bool

  public init(host: String, port: UInt16? = nil, isEncrypted: Bool) {
    self.host = host
    self.port = port ?? (isEncrypted ? 8883 : 1883)
    self.isEncrypted = isEncrypted
  }

  /// - Parameter text: `mqtt://` or `mqtts://`, a host, and a port if it is not 1883, or 8883 with TLS
  public init?(_ text: String) {
    let isEncrypted = text.hasPrefix("mqtts://")
    guard isEncrypted || text.hasPrefix("mqtt://"), let scheme = text.firstRange(of: "://") else { return nil }
    guard let place = HostPort(text[scheme.upperBound...]) else { return nil }
    self.init(host: place.host, port: place.port, isEncrypted: isEncrypted)
  }

  /// `nil` if it is a name.
  public var address: IPAddress? { IPAddress(host) }

  /// It reaches only this machine.
  public var isLoopback: Bool { host == "localhost" || address?.isLoopback == true }
}

extension BrokerAddress: CustomStringConvertible {
  public var description: String {
    "\(isEncrypted ? "mqtts" : "mqtt")://\(HostPort.text(host, port))"
  }
}
