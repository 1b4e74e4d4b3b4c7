/// Fix data of a receiver that combines several satellite systems.
public struct GNS: Equatable, Sendable {
  public var time: TimeOfDay?
  public var position: Coordinate?
  /// The best of the modes. The field has a letter for each system, and a fix by one system is a fix.
  public var mode: ModeIndicator?
  public var satellitesUsed: UInt8
  public var hdop: Double?
  public var altitudeMSLMetres: Double?
  public var geoidSeparationMetres: Double?
  public var differentialAgeSeconds: Double?
  public var differentialStation: UInt16?
  /// Whether the receiver warns that the position must not be used (navigational status U, NMEA 4.1). V is no warning:
  /// it only means that the receiver gives no navigational status, and u-blox receivers always send it.
  public var isUnsafe: Bool

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 12 else { return nil }
    time = fields.timeOfDay()
    position = fields.coordinate()
    mode = ModeIndicator(ofSystems: fields.bytes())
    satellitesUsed = UInt8(clamping: fields.integer() ?? 0)
    hdop = fields.number()
    altitudeMSLMetres = fields.number()
    geoidSeparationMetres = fields.number()
    differentialAgeSeconds = fields.number()
    differentialStation = fields.integer().map { UInt16(clamping: $0) }
    isUnsafe = fields.character() == Byte.U
  }
}
