/// Global positioning system fix data: time, position, quality and altitude.
public struct GGA: Equatable, Sendable {
  public var time: TimeOfDay?
  public var position: Coordinate?
  /// The quality; `nil` if the field is empty, or the standard does not define the value.
  public var quality: Quality?
  public var satellitesUsed: UInt8
  public var hdop: Double?
  public var altitudeMSLMetres: Double?
  /// The height of the geoid above the WGS 84 ellipsoid.
  public var geoidSeparationMetres: Double?
  public var differentialAgeSeconds: Double?
  public var differentialStation: UInt16?

  public enum Quality: UInt8, Sendable {
    case invalid = 0
    case autonomous = 1
    case differential = 2
    case precise = 3
    case rtkFixed = 4
    case rtkFloat = 5
    case estimated = 6
    case manual = 7
    case simulator = 8

    /// Whether the position comes from inertial sensors, was entered by hand, or is simulated.
    var needsNoSatellites: Bool {
      switch self {
      case .estimated, .manual, .simulator: true
      case .invalid, .autonomous, .differential, .precise, .rtkFixed, .rtkFloat: false
      }
    }
  }

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 12 else { return nil }
    time = fields.timeOfDay()
    position = fields.coordinate()
    quality = fields.integer().flatMap { UInt8(exactly: $0) }.flatMap(Quality.init)
    satellitesUsed = UInt8(clamping: fields.integer() ?? 0)
    hdop = fields.number()
    altitudeMSLMetres = fields.number()
    fields.skip()
    geoidSeparationMetres = fields.number()
    fields.skip()
    differentialAgeSeconds = fields.number()
    differentialStation = fields.integer().map { UInt16(clamping: $0) }
  }
}
