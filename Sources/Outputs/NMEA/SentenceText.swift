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

/// The characters that stand for the kind of a fix in sentences. The values of `status` are those of the gpsd protocol:
/// 2 differential, 3 RTK fixed, 4 RTK float, 5 dead reckoning, 7 surveyed, 8 simulated, 9 P(Y) code.
enum FixLetter {
  /// The quality in GGA.
  static func quality(ofStatus status: Int) -> Int {
    switch status {
    case 2: 2
    case 3: 4
    case 4: 5
    case 5: 6
    case 7: 7
    case 8: 8
    case 9: 3
    default: 1
    }
  }

  /// The mode indicator of RMC and VTG.
  static func mode(ofStatus status: Int) -> String {
    switch status {
    case 2: "D"
    case 3: "R"
    case 4: "F"
    case 5: "E"
    case 7: "M"
    case 8: "S"
    case 9: "P"
    default: "A"
    }
  }
}
