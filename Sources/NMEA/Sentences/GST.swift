/// Pseudorange noise statistics: the receiver's own standard deviations.
public struct GST: Equatable, Sendable {
  public var time: TimeOfDay?
  /// The RMS of the standard deviations of the ranges in the solution, metres.
  public var rangeRMSMetres: Double?
  public var semiMajorMetres: Double?
  public var semiMinorMetres: Double?
  /// The direction of the error ellipse's major axis, degrees from true north.
  public var orientationDegrees: Double?
  public var latitudeSigmaMetres: Double?
  public var longitudeSigmaMetres: Double?
  public var altitudeSigmaMetres: Double?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 7 else { return nil }
    time = fields.timeOfDay()
    rangeRMSMetres = fields.number()
    semiMajorMetres = fields.number()
    semiMinorMetres = fields.number()
    orientationDegrees = fields.number()
    latitudeSigmaMetres = fields.number()
    longitudeSigmaMetres = fields.number()
    altitudeSigmaMetres = fields.number()
  }
}
