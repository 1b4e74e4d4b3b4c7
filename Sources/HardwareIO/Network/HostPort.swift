import CLinux
import Glibc

/// A host with an optional port: `caster.example`, `192.168.1.5:2101`, `[2001:db8::1]:2101`.
public struct HostPort: Equatable, Sendable {
  /// The host's name, or its address without brackets.
  public var host: String
  public var port: UInt16?

  /// Returns `nil` if the text is neither a name nor an address, or if the port is 0.
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

  /// Returns the text for an address and port. An IPv6 address is put in brackets.
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
