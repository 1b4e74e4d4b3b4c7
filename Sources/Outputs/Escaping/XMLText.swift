/// Escapes text for XML formats.
public enum XMLText {
  /// Text between tags. It escapes characters with a meaning in XML, and omits characters that XML does not permit.
  public static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\t", "\n", "\r": escaped += " "
      case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": break
      // The reference means the same to a parser, and is harmless on a terminal.
      case _ where Text.isHidden(scalar): escaped += "&#x\(String(scalar.value, radix: 16));"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }
}
