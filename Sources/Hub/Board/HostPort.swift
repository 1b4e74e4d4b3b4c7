/// A host, with a port where one is named: `caster.example`, `192.168.1.5:2101`, `[2001:db8::1]:2101`.
struct HostPort {
  /// A name, or an address without brackets.
  var host: String
  var port: UInt16?

  init?(_ text: Substring) {
    var host = text
    if let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") {
      guard let number = UInt16(text[text.index(after: colon)...]), number > 0 else { return nil }
      port = number
      host = text[..<colon]
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      guard IPAddress(String(host))?.bytes.count == 16 else { return nil }
    } else if !HostPort.isName(host) {
      return nil
    }
    self.host = String(host)
  }

  /// As it stands in an address.
  static func text(_ host: String, _ port: UInt16) -> String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

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
