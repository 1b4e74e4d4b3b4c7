/// Unicore's sentence of a receiver with two antennas. Only the heading is used, because standard sentences have the
/// position and the course.
public struct KSXT: Equatable, Sendable {
  /// The heading in degrees from true north, 0 to 360; `nil` unless the ambiguities are fixed.
  public var headingDegrees: Double?

  /// The quality of a heading with fixed ambiguities.
  private static let fixed = 3

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 11 else { return nil }
    // Skip time, longitude, latitude and height.
    fields.skip(4)
    let heading = fields.direction()
    // Skip pitch, course, speed, roll, and the quality of the position.
    fields.skip(5)
    headingDegrees = fields.integer() == KSXT.fixed ? heading : nil
  }
}
