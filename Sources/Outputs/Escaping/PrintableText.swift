/// Text for terminals and logs. Only this file decides which characters may be written to them.
extension Text {
  /// Text without hidden characters. A character that controls a terminal, ends a line, changes the direction of
  /// writing or is invisible is escaped, as `\n` or `\u{1b}`.
  public static func printable(_ text: String) -> String {
    if text.utf8.allSatisfy({ 0x20..<0x7f ~= $0 }) { return text }
    return text.unicodeScalars.reduce(into: "") { $0 += printable($1) }
  }

  static func printable(_ scalar: Unicode.Scalar) -> String {
    if !isHidden(scalar) { return String(scalar) }
    return switch scalar {
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    default: "\\u{\(String(scalar.value, radix: 16))}"
    }
  }

  /// One or more lines for a terminal. Line ends and tabs stay, because the program itself wrote them; all other
  /// hidden characters are escaped.
  public static func printableLines(_ text: String) -> String {
    if text.utf8.allSatisfy({ 0x20..<0x7f ~= $0 || $0 == 0x0a || $0 == 0x09 }) { return text }
    return text.unicodeScalars.reduce(into: "") { $0 += $1 == "\n" || $1 == "\t" ? String($1) : printable($1) }
  }

  /// JSON for a terminal. It is the same JSON, with JSON's own escapes for invisible characters. Non-ASCII characters
  /// appear only in strings, where an escape means the same as the character.
  public static func printableJSON(_ text: String) -> String {
    if text.utf8.allSatisfy({ 0x20..<0x7f ~= $0 || $0 == 0x0a || $0 == 0x09 }) { return text }
    return text.unicodeScalars.reduce(into: "") { json, scalar in
      guard isHidden(scalar), scalar != "\n", scalar != "\t" else {
        json.unicodeScalars.append(scalar)
        return
      }
      json += escape(ofJSON: scalar)
    }
  }

  /// The JSON escape of a scalar: `\u202e`, or two escapes if the scalar has more than sixteen bits.
  static func escape(ofJSON scalar: Unicode.Scalar) -> String {
    String(scalar).utf16.reduce(into: "") { escape, unit in
      let digits = String(unit, radix: 16)
      escape += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
  }

  /// One entry of a log. Continuation lines are indented, so that a line end in the text cannot fake another entry,
  /// and no character moves a terminal's cursor.
  static func indented(_ text: String) -> String {
    text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { printable(String($0)) }
      .joined(separator: "\n  ")
  }

  /// Whether a scalar moves the cursor, ends a line, changes the direction of writing, or is invisible.
  static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
    default: false
    }
  }
}
