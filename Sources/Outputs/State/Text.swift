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

  /// `1 h 02 min`, `3 min 20 s`, `4.2 s`; of any number, those that others sent too.
  public static func duration(seconds: Double) -> String {
    guard seconds.isFinite else { return "unknown" }
    if seconds < 60 { return "\(fixed(max(seconds, -longest), 1)) s" }
    let whole = Int(min(seconds, longest))
    if seconds < 3600 { return "\(whole / 60) min \(two(whole % 60)) s" }
    return "\(whole / 3600) h \(two(whole / 60 % 60)) min"
  }

  /// Filled up with blanks to the right.
  public static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// Thirty million years: no number of seconds is meant to be more, and an integer holds it.
  private static let longest = 1e15

  private static func two(_ value: Int) -> String { (value < 10 ? "0" : "") + "\(value)" }
}
