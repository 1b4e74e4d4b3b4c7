import CLinux
import Glibc

/// The address of a receiver on the network, which a board file gives as the `port`.
///
///     tcp://192.168.1.7:10110      connects, and reads everything that the other end sends
///     udp://:10110                 receives datagrams sent to this port
///     udp://239.2.1.1:10110        the same for a multicast group
///     gpsd://phone.local           asks a gpsd, or another hub, for the sentences of all its receivers
///     gpsd://boat:2947/dev/ttyS0   the same for one receiver
public struct NetworkSource: Equatable, Sendable {
  public enum Kind: String, CaseIterable, Sendable { case tcp, udp, gpsd }

  /// The port that gpsd listens on. It is used if the address names no port.
  private static let gpsdPort: UInt16 = 2947
  private static let separator = "://"

  public let kind: Kind
  /// The host's name, or its address without brackets. Empty to receive datagrams at all IPv4 addresses of this
  /// machine.
  public let host: String
  public let port: UInt16
  /// The receiver that gpsd should read, for example `/dev/ttyS0`; `nil` for all its receivers.
  public let device: String?

  /// Whether a port name in a board file has the form of a network address. The address may be invalid.
  public static func isMeant(by name: String) -> Bool {
    name.contains(separator) && !ModemPortName.isMeant(by: name)
  }

  /// Returns `nil` if the text is not a valid network address.
  public init?(_ text: String) {
    guard let scheme = Kind.allCases.first(where: { text.hasPrefix($0.rawValue + NetworkSource.separator) }) else {
      return nil
    }
    kind = scheme
    var rest = text.dropFirst(scheme.rawValue.count + NetworkSource.separator.count)
    if let slash = rest.firstIndex(of: "/") {
      // These characters need no escaping in JSON.
      let isPlain = rest[slash...].utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
      guard scheme == .gpsd, isPlain, rest[slash...].count > 1 else { return nil }
      device = String(rest[slash...])
      rest = rest[..<slash]
    } else {
      device = nil
    }
    if scheme == .udp, rest.first == ":", let number = UInt16(rest.dropFirst()), number > 0 {
      (host, port) = ("", number)
      return
    }
    guard let place = HostPort(rest), let number = place.port ?? (scheme == .gpsd ? NetworkSource.gpsdPort : nil)
    else { return nil }
    (host, port) = (place.host, number)
  }

  /// Whether the receiver accepts bytes, for commands and corrections.
  public var takesBytes: Bool { kind == .tcp }
}

extension NetworkSource: CustomStringConvertible {
  public var description: String {
    "\(kind.rawValue)\(NetworkSource.separator)\(HostPort.text(host, port))\(device ?? "")"
  }
}

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
