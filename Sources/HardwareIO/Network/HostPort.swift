import CLinux
import Glibc

/// A host, with a port if one is named: `caster.example`, `192.168.1.5:2101`, `[2001:db8::1]:2101`.
public struct HostPort: Equatable, Sendable {
  /// A name, or an address without brackets.
  public var host: String
  public var port: UInt16?

  /// Returns `nil` for text that is neither a name nor an address, and for port 0.
  public init?(_ text: Substring) {
    var host = text
    if let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") {
      guard let number = UInt16(text[text.index(after: colon)...]), number > 0 else { return nil }
      port = number
      host = text[..<colon]
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      guard HostPort.isIPv6(String(host)) else { return nil }
    } else if !HostPort.isName(host) {
      return nil
    }
    self.host = String(host)
  }

  /// The form that an address has in front of a port: IPv6 addresses get brackets.
  public static func text(_ host: String, _ port: UInt16) -> String {
    "\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }

  private static func isIPv6(_ text: String) -> Bool {
    var address = in6_addr()
    return inet_pton(AF_INET6, text, &address) == 1
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
}
