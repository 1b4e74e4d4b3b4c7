/// Escapes text for XML formats.
public enum XMLText {
  /// Text between tags. Characters with a meaning in XML are escaped, and characters that XML does not permit are
  /// omitted.
  public static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\t", "\n", "\r": escaped += " "
      case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": break
      // A parser reads the reference as the character, and a terminal shows it harmlessly.
      case _ where Text.isHidden(scalar): escaped += "&#x\(String(scalar.value, radix: 16));"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }
}
