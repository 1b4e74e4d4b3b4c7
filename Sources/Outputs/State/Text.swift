/// Numbers and words as people read them.
public enum Text {
  public static func fixed(_ value: Double, _ decimals: Int) -> String {
    var json = JSONWriter(capacity: 32)
    json.number(value, decimals: decimals)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  /// `1 h 02 min`, `3 min 20 s`, `4.2 s`
  public static func duration(seconds: Double) -> String {
    if seconds < 60 { return "\(fixed(seconds, 1)) s" }
    let whole = Int(seconds)
    if seconds < 3600 { return "\(whole / 60) min \(two(whole % 60)) s" }
    return "\(whole / 3600) h \(two(whole / 60 % 60)) min"
  }

  /// Filled up with blanks to the right.
  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func two(_ value: Int) -> String { (value < 10 ? "0" : "") + "\(value)" }
}
