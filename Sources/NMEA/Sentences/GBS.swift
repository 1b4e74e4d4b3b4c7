/// Satellite fault detection: expected errors, one standard deviation.
public struct GBS: Equatable, Sendable {
  public var time: TimeOfDay?
  public var latitudeErrorMetres: Double?
  public var longitudeErrorMetres: Double?
  public var altitudeErrorMetres: Double?
  /// The satellite that has most likely failed.
  public var failedSatellite: Int?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    time = fields.timeOfDay()
    latitudeErrorMetres = fields.number()
    longitudeErrorMetres = fields.number()
    altitudeErrorMetres = fields.number()
    failedSatellite = fields.integer()
  }
}
