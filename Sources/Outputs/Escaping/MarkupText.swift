/// Text in HTML pages.
public enum HTMLText {
  /// Escapes text for the place between tags or between the quotes of an attribute, single or double.
  ///
  /// It works on scalars: Swift joins a `<` and a combining mark into one character, but a browser sees a `<`.
  public static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      // A page may not contain U+0000 in any form (HTML, section 13.2.6.4: it is a parse error).
      case "\0": escaped += "\u{FFFD}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }

  /// Replaces a page's marks, such as `{{board}}`, by the escaped texts. A mark without a text, and a mark inside a
  /// text, stay as they are.
  public static func filled(_ page: [UInt8], _ texts: [String: String]) -> [UInt8] {
    var filled: [UInt8] = []
    filled.reserveCapacity(page.count)
    var rest = page[...]
    while let start = rest.firstRange(of: "{{".utf8) {
      filled += rest[..<start.lowerBound]
      rest = rest[start.upperBound...]
      guard let end = rest.firstRange(of: "}}".utf8),
        let text = texts[String(decoding: rest[..<end.lowerBound], as: UTF8.self)]
      else {
        filled += "{{".utf8
        continue
      }
      filled += escaped(text).utf8
      rest = rest[end.upperBound...]
    }
    return filled + rest
  }
}

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
