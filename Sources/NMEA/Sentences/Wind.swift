/// Wind, from MWD (its direction over ground) or MWV (its angle off the bow).
public struct Wind: Equatable, Sendable {
  public var directionTrueDegrees: Double?
  public var directionMagneticDegrees: Double?
  /// The angle of the true wind off the bow, clockwise, from MWV with the reference T (IEC 61162-1: theoretical). It is
  /// no direction on the compass.
  public var trueAngleDegrees: Double?
  /// The speed of the true wind: over ground from MWD, and through the water from most senders of MWV.
  public var trueSpeedMetresPerSecond: Double?
  /// The angle of the apparent wind off the bow, clockwise.
  public var relativeAngleDegrees: Double?
  /// The speed of the apparent wind.
  public var relativeSpeedMetresPerSecond: Double?

  init?(mwd fields: inout FieldReader) {
    guard fields.remaining >= 7 else { return nil }
    directionTrueDegrees = fields.number()
    fields.skip()
    directionMagneticDegrees = fields.number()
    fields.skip()
    let knots = fields.number()
    fields.skip()
    trueSpeedMetresPerSecond = fields.number() ?? knots.map { $0 * Unit.metresPerSecondPerKnot }
  }

  init?(mwv fields: inout FieldReader) {
    guard fields.remaining >= 5 else { return nil }
    let angle = fields.number()
    let reference = fields.character()
    let speed = fields.number()
    let unit = fields.character()
    guard fields.character() == Byte.A else { return nil }
    let metresPerSecond =
      switch unit {
      case Byte.N: speed.map { $0 * Unit.metresPerSecondPerKnot }
      case UInt8(ascii: "K"): speed.map { $0 * Unit.metresPerSecondPerKilometrePerHour }
      case Byte.M: speed
      default: nil as Double?
      }
    switch reference {
    case Byte.R:
      relativeAngleDegrees = angle
      relativeSpeedMetresPerSecond = metresPerSecond
    case Byte.T:
      trueAngleDegrees = angle
      trueSpeedMetresPerSecond = metresPerSecond
    default: return nil
    }
  }
}
