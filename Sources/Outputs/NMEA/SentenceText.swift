import NMEA

/// Formats numbers with as many decimals as a sentence has room for.
enum SentenceText {
  private static let metresPerSecondPerKnot = 1852.0 / 3600

  /// A speed in knots. It has two decimals below 100 knots, one below 1000 and none above, to keep the sentence short
  /// enough.
  static func knots(_ metresPerSecond: Double) -> String {
    let speed = metresPerSecond / metresPerSecondPerKnot
    return SentenceField.fixed(speed, speed < 99.99 ? 2 : speed < 999.9 ? 1 : 0)
  }

  /// An angle in degrees, from 0 to less than 360 even after rounding.
  static func bearing(_ degrees: Double, _ decimals: Int) -> String {
    SentenceField.fixed(Angle.bearing(degrees, decimals: decimals), decimals)
  }

  static func eastOrWest(_ degrees: Double) -> String {
    "\(SentenceField.fixed(abs(degrees), 1)),\(degrees < 0 ? "W" : "E")"
  }

  /// An altitude in metres. From 9999 m on it has no decimals, to keep the sentence short enough.
  static func altitude(_ metres: Double) -> String { SentenceField.fixed(metres, metres.magnitude < 9999 ? 1 : 0) }

  /// A standard deviation, limited to 9999 to keep the sentence short enough.
  static func sigma(_ value: Double, _ decimals: Int) -> String { SentenceField.fixed(min(value, 9999), decimals) }
}
