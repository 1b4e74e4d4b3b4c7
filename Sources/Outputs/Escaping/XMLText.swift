/// Escapes text for XML formats.
public enum XMLText {
  /// Text between tags. Characters with a meaning in XML are escaped, tabs and line ends become blanks, and characters
  /// that XML does not permit are omitted.
  public static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\t", "\n", "\r": escaped += " "
      case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": break
      // A parser replaces the reference by the character, and a terminal that shows the file is not affected.
      case _ where Text.isHidden(scalar): escaped += "&#x\(String(scalar.value, radix: 16));"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }
}
