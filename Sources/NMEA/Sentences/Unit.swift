/// The factors from the units of sentences to SI.
enum Unit {
  /// The international knot, exact.
  static let metresPerSecondPerKnot = 1852.0 / 3600
  static let metresPerSecondPerKilometrePerHour = 1.0 / 3.6
  static let metresPerFoot = 0.3048
  static let metresPerFathom = 1.8288
}
