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

  /// - Parameter text: `mqtt://` or `mqtts://`, a host, and a port where it is not 1883, or 8883 with TLS
  public init?(_ text: String) {
    let isEncrypted = text.hasPrefix("mqtts://")
    guard isEncrypted || text.hasPrefix("mqtt://"), let scheme = text.firstRange(of: "://") else { return nil }
    let place = text[scheme.upperBound...]
    var host = place
    var port: UInt16?
    if let colon = place.lastIndex(of: ":"), !place[colon...].contains("]") {
      guard let number = UInt16(place[place.index(after: colon)...]), number > 0 else { return nil }
      port = number
      host = place[..<colon]
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      guard IPAddress(String(host))?.bytes.count == 16 else { return nil }
    } else if !BrokerAddress.isName(host) {
      return nil
    }
    self.init(host: String(host), port: port, isEncrypted: isEncrypted)
  }

  private static func isName(_ host: Substring) -> Bool {
    !host.isEmpty
      && host.unicodeScalars.allSatisfy { scalar in
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_": true
        default: false
        }
      }
  }

  /// `nil` where it is a name.
  public var address: IPAddress? { IPAddress(host) }

  /// Reaches nobody but this machine.
  public var isLoopback: Bool { host == "localhost" || address?.isLoopback == true }
}

extension BrokerAddress: CustomStringConvertible {
  public var description: String {
    "\(isEncrypted ? "mqtts" : "mqtt")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }
}
