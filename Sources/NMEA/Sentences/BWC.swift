/// Bearing and great-circle distance to a waypoint.
public struct BWC: Equatable, Sendable {
  public var time: TimeOfDay?
  public var waypoint: Coordinate?
  public var bearingTrueDegrees: Double?
  public var bearingMagneticDegrees: Double?
  public var distanceMetres: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 11 else { return nil }
    time = fields.timeOfDay()
    waypoint = fields.coordinate()
    bearingTrueDegrees = fields.number()
    fields.skip()
    bearingMagneticDegrees = fields.number()
    fields.skip()
    distanceMetres = fields.number().map { $0 * 1852 }
  }
}
