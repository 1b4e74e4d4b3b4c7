import Fusion

/// Numbers and words as people read them.
public enum Text {
  public static func fixed(_ value: Double, _ decimals: Int) -> String {
    var json = JSONWriter(capacity: 32)
    json.number(value, decimals: decimals)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  /// One standard deviation, with as many decimals as it takes not to look like none: `±1.3`, `±0.02`.
  public static func deviation(_ value: Double) -> String { "±\(fixed(value, value < 0.095 ? 2 : 1))" }

  /// `52.516312 N 13.377745 E`
  public static func place(_ position: FusedState.Position, decimals: Int) -> String {
    let (latitude, longitude) = (position.latitudeDegrees, position.longitudeDegrees)
    return "\(fixed(abs(latitude), decimals)) \(latitude < 0 ? "S" : "N") "
      + "\(fixed(abs(longitude), decimals)) \(longitude < 0 ? "W" : "E")"
  }

  /// Degrees from north, in three digits: `045°`, also of -315 or 405.
  public static func bearing(_ degrees: Double) -> String {
    guard degrees.isFinite else { return "unknown" }
    let whole = (Int(degrees.truncatingRemainder(dividingBy: 360).rounded()) + 360) % 360
    return String(repeating: "0", count: 3 - "\(whole)".count) + "\(whole)°"
  }

  /// `1 h 02 min`, `3 min 20 s`, `4.2 s`
  public static func duration(seconds: Double) -> String {
    if seconds < 60 { return "\(fixed(seconds, 1)) s" }
    let whole = Int(seconds)
    if seconds < 3600 { return "\(whole / 60) min \(two(whole % 60)) s" }
    return "\(whole / 3600) h \(two(whole / 60 % 60)) min"
  }

  /// One line of a log: its own line ends begin no line that could be taken for another one's, and nothing in it moves a
  /// terminal's cursor.
  static func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { printable(String($0)) }.joined(
      separator: "\n  ")
  }

  /// Text in which nothing hides: what controls a terminal, ends a line, turns the direction of writing or cannot be seen is
  /// written out, as `\n` or `\u{1b}`.
  public static func printable(_ text: String) -> String {
    if text.utf8.allSatisfy({ 0x20..<0x7f ~= $0 }) { return text }
    return text.unicodeScalars.reduce(into: "") { $0 += printable($1) }
  }

  static func printable(_ scalar: Unicode.Scalar) -> String {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
      switch scalar {
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      default: "\\u{\(String(scalar.value, radix: 16))}"
      }
    default: String(scalar)
    }
  }

  /// Filled up with blanks to the right.
  public static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func two(_ value: Int) -> String { (value < 10 ? "0" : "") + "\(value)" }
}
