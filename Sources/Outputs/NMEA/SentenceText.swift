import NMEA

/// Numbers, with as many decimals as a sentence has room for.
enum SentenceText {
  private static let metresPerSecondPerKnot = 1852.0 / 3600

  /// A speed in knots. From a hundred knots on it has only one decimal, to keep the sentence short enough.
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

  /// An altitude in metres. Great altitudes have no decimals, to keep the sentence short enough.
  static func altitude(_ metres: Double) -> String { SentenceField.fixed(metres, metres.magnitude < 9999 ? 1 : 0) }

  /// A standard deviation. Its value is limited, so that it takes no more room than usual ones.
  static func sigma(_ value: Double, _ decimals: Int) -> String { SentenceField.fixed(min(value, 9999), decimals) }
}
