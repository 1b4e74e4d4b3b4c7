/// Wind from MWD (over ground), or from MWV (relative to the bow if its reference is R, otherwise over ground).
public struct Wind: Equatable, Sendable {
  public var directionTrueDegrees: Double?
  public var directionMagneticDegrees: Double?
  /// The speed of the wind over ground.
  public var trueSpeedMetresPerSecond: Double?
  /// The angle off the bow, clockwise.
  public var relativeAngleDegrees: Double?
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
    if reference == Byte.R {
      relativeAngleDegrees = angle
      relativeSpeedMetresPerSecond = metresPerSecond
    } else {
      directionTrueDegrees = angle
      trueSpeedMetresPerSecond = metresPerSecond
    }
  }
}
