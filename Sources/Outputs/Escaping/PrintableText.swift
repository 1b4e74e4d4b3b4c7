/// Text for terminals and logs: the one place that decides what may reach them.
extension Text {
  /// Text in which nothing hides: what controls a terminal, ends a line, turns the direction of writing or cannot be seen is
  /// written out, as `\n` or `\u{1b}`.
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

  /// One or more lines for a terminal. Ends of lines and tabs are the writer's own; everything else that hides is written out.
  public static func printableLines(_ text: String) -> String {
    if text.utf8.allSatisfy({ 0x20..<0x7f ~= $0 || $0 == 0x0a || $0 == 0x09 }) { return text }
    return text.unicodeScalars.reduce(into: "") { $0 += $1 == "\n" || $1 == "\t" ? String($1) : printable($1) }
  }

  /// JSON for a terminal: the same JSON, in which invisible characters are written as JSON's own escapes. Non-ASCII
  /// characters appear only in strings, in which an escape means the same.
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

  /// `\u202e`, and two of these if a scalar has more than sixteen bits.
  static func escape(ofJSON scalar: Unicode.Scalar) -> String {
    String(scalar).utf16.reduce(into: "") { escape, unit in
      let digits = String(unit, radix: 16)
      escape += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
  }

  /// One line of a log: its own line ends begin no line that could be taken for another one's, and nothing in it moves a
  /// terminal's cursor.
  static func indented(_ text: String) -> String {
    text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { printable(String($0)) }
      .joined(separator: "\n  ")
  }

  /// Whether a scalar moves a cursor, ends a line, turns the direction of writing, or shows as nothing.
  static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
    default: false
    }
  }
}
