/// PQTMEPE: the estimated errors of the position of a Quectel receiver, in metres.
///
/// The specification does not state the confidence level of these errors. The horizontal and the spherical error are
/// the roots of the sums of squares of the others, as with standard deviations along the axes, so the errors are used
/// as standard deviations. The sentence has no time; it belongs to the epoch in which it arrives.
public struct QuectelErrorEstimate: Equatable, Sendable {
  public var northMetres: Double
  public var eastMetres: Double
  public var downMetres: Double
  public var horizontalMetres: Double?
  public var sphericalMetres: Double?

  /// The version of the sentence with these fields.
  private static let version = 2

  /// - Returns: `nil` for another version, or if an error along an axis is missing or not positive
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 6, fields.integer() == QuectelErrorEstimate.version, let north = fields.number(),
      let east = fields.number(), let down = fields.number(), min(north, east, down) > 0
    else { return nil }
    (northMetres, eastMetres, downMetres) = (north, east, down)
    horizontalMetres = fields.number()
    sphericalMetres = fields.number()
  }
}

/// PQTMTAR: the attitude of a Quectel receiver with two antennas (LG580P, LC02H). Only the heading is used.
public struct QuectelAttitude: Equatable, Sendable {
  /// The heading in degrees from true north, 0 to 360; `nil` unless the ambiguities are fixed.
  public var headingDegrees: Double?
  /// The standard deviation.
  public var headingSigmaDegrees: Double?

  /// The version of the sentence with these fields.
  private static let version = 1
  /// The quality of a heading with fixed ambiguities. 0 is no heading, 5 floating ambiguities, 6 dead reckoning.
  private static let fixed = 4

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 12, fields.integer() == QuectelAttitude.version else { return nil }
    // Skip the time.
    fields.skip()
    guard fields.integer() == QuectelAttitude.fixed else { return }
    // Skip a reserved field, the length of the baseline, pitch and roll.
    fields.skip(4)
    headingDegrees = fields.direction()
    // Skip the errors of pitch and roll.
    fields.skip(2)
    headingSigmaDegrees = fields.number()
  }
}
