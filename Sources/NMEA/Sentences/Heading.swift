/// Where the bow points, from HDG, HDM, HDT or THS.
public struct Heading: Equatable, Sendable {
  /// Degrees from true north, 0 to 360.
  public var trueDegrees: Double?
  /// Degrees from magnetic north, deviation corrected where the sentence gives it.
  public var magneticDegrees: Double?
  /// Positive where magnetic north lies east of true north.
  public var variationDegrees: Double?
  /// Whether the true heading is measured, rather than estimated, entered or simulated.
  public var isMeasured = false

  init?(hdg fields: inout FieldReader) {
    let sensor = fields.direction()
    let deviation = fields.signed(positive: Byte.E, negative: Byte.W)
    variationDegrees = fields.signed(positive: Byte.E, negative: Byte.W)
    // With a deviation that cannot be, nothing is known of where the bow points.
    guard abs(deviation ?? 0) <= 180 else { return }
    magneticDegrees = sensor.map { Angle.onCircle($0 + (deviation ?? 0)) }
  }

  init?(hdm fields: inout FieldReader) {
    guard fields.remaining >= 2 else { return nil }
    magneticDegrees = fields.direction()
  }

  init?(hdt fields: inout FieldReader) {
    trueDegrees = fields.direction()
    isMeasured = true
  }

  /// THS says how it knows; `V` is not valid.
  init?(ths fields: inout FieldReader) {
    let heading = fields.direction()
    let mode = fields.character()
    trueDegrees = mode == nil || mode == Byte.V ? nil : heading
    isMeasured = mode == Byte.A
  }
}
