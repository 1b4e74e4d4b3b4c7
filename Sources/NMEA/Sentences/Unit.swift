/// Factors from the units that sentences use to SI.
enum Unit {
  /// International knot, exact.
  static let metresPerSecondPerKnot = 1852.0 / 3600
  static let metresPerSecondPerKilometrePerHour = 1.0 / 3.6
  static let metresPerFoot = 0.3048
  static let metresPerFathom = 1.8288
}
