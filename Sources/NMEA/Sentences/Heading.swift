/// The heading of the bow from HDG, HDM, HDT or THS.
public struct Heading: Equatable, Sendable {
  /// The heading in degrees from true north, 0 to 360.
  public var trueDegrees: Double?
  /// The heading in degrees from magnetic north, corrected for the deviation if the sentence states it.
  public var magneticDegrees: Double?
  /// The variation; positive if magnetic north is east of true north.
  public var variationDegrees: Double?
  /// Whether the true heading is measured, and not estimated, entered or simulated.
  public var isMeasured = false

  init?(hdg fields: inout FieldReader) {
    let sensor = fields.direction()
    let deviation = fields.signed(positive: Byte.E, negative: Byte.W)
    variationDegrees = fields.signed(positive: Byte.E, negative: Byte.W)
    // With an impossible deviation, the heading is unknown.
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

  /// Reads THS, which states the source of the heading; `V` is invalid.
  init?(ths fields: inout FieldReader) {
    let heading = fields.direction()
    let mode = fields.character()
    trueDegrees = mode == nil || mode == Byte.V ? nil : heading
    isMeasured = mode == Byte.A
  }
}
