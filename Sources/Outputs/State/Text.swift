import Fusion

/// Formats values as text for people.
public enum Text {
  public static func fixed(_ value: Double, _ decimals: Int) -> String {
    var json = JSONWriter(capacity: 32)
    json.number(value, decimals: decimals)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  /// One standard deviation, with enough decimals that it does not look like zero: `±1.3`, `±0.02`.
  public static func deviation(_ value: Double) -> String { "±\(fixed(value, value < 0.095 ? 2 : 1))" }

  /// A position, for example `52.516312 N 13.377745 E`.
  public static func place(_ position: FusedState.Position, decimals: Int) -> String {
    let (latitude, longitude) = (position.latitudeDegrees, position.longitudeDegrees)
    return "\(fixed(abs(latitude), decimals)) \(latitude < 0 ? "S" : "N") "
      + "\(fixed(abs(longitude), decimals)) \(longitude < 0 ? "W" : "E")"
  }

  /// Degrees from north in three digits: `045°`, also for -315 or 405.
  public static func bearing(_ degrees: Double) -> String {
    guard degrees.isFinite else { return "unknown" }
    let whole = (Int(degrees.truncatingRemainder(dividingBy: 360).rounded()) + 360) % 360
    return String(repeating: "0", count: 3 - "\(whole)".count) + "\(whole)°"
  }

  /// A duration, for example `1 h 02 min`, `3 min 20 s` or `4.2 s`. Any number is accepted, because the value may
  /// come from another program.
  public static func duration(seconds: Double) -> String {
    guard seconds.isFinite else { return "unknown" }
    if seconds < 60 { return "\(fixed(max(seconds, -longest), 1)) s" }
    let whole = Int(min(seconds, longest))
    if seconds < 3600 { return "\(whole / 60) min \(two(whole % 60)) s" }
    return "\(whole / 3600) h \(two(whole / 60 % 60)) min"
  }

  /// A text, filled with blanks on the right up to a width in characters. A longer text is not cut.
  public static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// The longest duration that is printed, in seconds: thirty million years. It fits into an integer.
  private static let longest = 1e15

  private static func two(_ value: Int) -> String { (value < 10 ? "0" : "") + "\(value)" }
}
