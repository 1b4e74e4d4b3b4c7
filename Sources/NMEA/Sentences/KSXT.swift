/// Unicore's sentence of a receiver with two antennas. Position and course stand in standard sentences too, so that only the heading
/// is taken from it.
public struct KSXT: Equatable, Sendable {
  /// Degrees from true north, 0 to 360; `nil` unless its ambiguities are fixed.
  public var headingDegrees: Double?

  /// Of the quality of a heading: the ambiguities are fixed.
  private static let fixed = 3

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 11 else { return nil }
    // Time, longitude, latitude and height.
    fields.skip(4)
    let heading = fields.direction()
    // Pitch, course, speed, roll, and the quality of the position.
    fields.skip(5)
    headingDegrees = fields.integer() == KSXT.fixed ? heading : nil
  }
}
