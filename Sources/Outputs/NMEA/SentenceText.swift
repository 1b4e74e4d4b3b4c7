import NMEA

/// Numbers in the precision for which sentences have room.
enum SentenceText {
  private static let metresPerSecondPerKnot = 1852.0 / 3600

  /// The speed. From a hundred knots on it has one decimal, because the sentence would become too long.
  static func knots(_ metresPerSecond: Double) -> String {
    let speed = metresPerSecond / metresPerSecondPerKnot
    return SentenceField.fixed(speed, speed < 99.99 ? 2 : speed < 999.9 ? 1 : 0)
  }

  /// An angle from 0 to less than 360, after rounding too.
  static func bearing(_ degrees: Double, _ decimals: Int) -> String {
    SentenceField.fixed(Angle.bearing(degrees, decimals: decimals), decimals)
  }

  static func eastOrWest(_ degrees: Double) -> String {
    "\(SentenceField.fixed(abs(degrees), 1)),\(degrees < 0 ? "W" : "E")"
  }

  /// The altitude. Far up it is in whole metres, because the sentence would become too long.
  static func altitude(_ metres: Double) -> String { SentenceField.fixed(metres, metres.magnitude < 9999 ? 1 : 0) }

  /// A standard deviation. A huge one is capped, so that it takes no more room than others.
  static func sigma(_ value: Double, _ decimals: Int) -> String { SentenceField.fixed(min(value, 9999), decimals) }
}
