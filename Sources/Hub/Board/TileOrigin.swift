import HardwareIO

/// The server of a map's tiles or of a webhook, in the form of a content security policy (CSP 3, host-source):
/// `https://tiles.example:8443`.
///
/// A blank or a semicolon would end the source in a policy. The description is therefore made from the parsed host and
/// port, and never cut out of the configured address.
public struct TileOrigin: Equatable, Sendable {
  /// The scheme, `https` or `http`.
  public let scheme: String
  public let host: String
  public let port: UInt16?

  /// - Parameter address: an HTTP address, such as that of map tiles, with `{z}`, `{x}` and `{y}`
  /// - Returns: `nil` unless the address has only visible ASCII, and a host that is a name or an address
  public init?(of address: String) {
    let forbidden = "\"'<>\\^`|;,".utf8
    guard address.utf8.count <= 1024, address.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !forbidden.contains($0) }) else {
      return nil
    }
    guard let scheme = ["https", "http"].first(where: { address.hasPrefix("\($0)://") }) else { return nil }
    let authority = address.dropFirst(scheme.count + 3).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard let place = HostPort(authority) else { return nil }
    self.scheme = scheme
    host = place.host
    port = place.port
  }
}

extension TileOrigin: CustomStringConvertible {
  public var description: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return "\(scheme)://\(name)\(port.map { ":\($0)" } ?? "")"
  }
}
