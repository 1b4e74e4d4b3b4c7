/// Texts in formats that are XML.
public enum XMLText {
  /// Text between tags: characters with a meaning in XML are escaped, and characters that it does not permit are left
  /// out.
  public static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\t", "\n", "\r": escaped += " "
      case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": break
      // Equal for a parser, and harmless on a terminal.
      case _ where Text.isHidden(scalar): escaped += "&#x\(String(scalar.value, radix: 16));"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }
}
