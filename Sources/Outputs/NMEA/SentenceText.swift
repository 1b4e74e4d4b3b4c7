import NMEA

/// Numbers as sentences have room for them.
enum SentenceText {
  private static let metresPerSecondPerKnot = 1852.0 / 3600

  /// At a hundred knots a tenth of one has to do: with all that it may say the sentence would be too long.
  static func knots(_ metresPerSecond: Double) -> String {
    let speed = metresPerSecond / metresPerSecondPerKnot
    return SentenceField.fixed(speed, speed < 99.99 ? 2 : speed < 999.9 ? 1 : 0)
  }

  /// From 0 to less than 360, after rounding too.
  static func bearing(_ degrees: Double, _ decimals: Int) -> String {
    SentenceField.fixed(Angle.bearing(degrees, decimals: decimals), decimals)
  }

  static func eastOrWest(_ degrees: Double) -> String {
    "\(SentenceField.fixed(abs(degrees), 1)),\(degrees < 0 ? "W" : "E")"
  }

  /// Far up a metre has to do: the sentence would be too long.
  static func altitude(_ metres: Double) -> String { SentenceField.fixed(metres, metres.magnitude < 9999 ? 1 : 0) }

  /// A standard deviation; one that is beyond all use takes no more room than others.
  static func sigma(_ value: Double, _ decimals: Int) -> String { SentenceField.fixed(min(value, 9999), decimals) }
}
