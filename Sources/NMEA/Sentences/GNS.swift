/// Fix data of a receiver that combines several satellite systems.
public struct GNS: Equatable, Sendable {
  public var time: TimeOfDay?
  public var position: Coordinate?
  /// The first system's mode; the letters of the others follow it in the sentence and are not kept.
  public var mode: ModeIndicator?
  public var satellitesUsed: UInt8
  public var hdop: Double?
  public var altitudeMSLMetres: Double?
  public var geoidSeparationMetres: Double?
  public var differentialAgeSeconds: Double?
  public var differentialStation: UInt16?
  /// The receiver warns that the position must not be used (navigational status U or V, NMEA 4.1).
  public var isUnsafe: Bool

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 12 else { return nil }
    time = fields.timeOfDay()
    position = fields.coordinate()
    mode = fields.character().map(ModeIndicator.init)
    satellitesUsed = UInt8(clamping: fields.integer() ?? 0)
    hdop = fields.number()
    altitudeMSLMetres = fields.number()
    geoidSeparationMetres = fields.number()
    differentialAgeSeconds = fields.number()
    differentialStation = fields.integer().map { UInt16(clamping: $0) }
    let status = fields.character()
    isUnsafe = status == Byte.U || status == Byte.V
  }
}
