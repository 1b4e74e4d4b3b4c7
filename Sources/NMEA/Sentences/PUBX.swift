/// u-blox's own sentences: 00 position, 04 time.
public enum PUBX: Equatable, Sendable {
  case position(Position)
  case time(TimeOfDay?, CalendarDate?)

  public struct Position: Equatable, Sendable {
    public var time: TimeOfDay?
    public var position: Coordinate?
    public var altitudeHAEMetres: Double?
    public var mode: FixMode
    public var status: FixStatus
    public var horizontalAccuracyMetres: Double?
    public var verticalAccuracyMetres: Double?
    public var speedMetresPerSecond: Double?
    public var trackDegrees: Double?
    public var downMetresPerSecond: Double?
    public var hdop: Double?
    public var vdop: Double?
    public var satellitesUsed: UInt8
  }

  init?(_ fields: inout FieldReader) {
    switch fields.integer() {
    case 0:
      guard fields.remaining >= 17 else { return nil }
      var position = Position(mode: .noFix, status: .unknown, satellitesUsed: 0)
      position.time = fields.timeOfDay()
      position.position = fields.coordinate()
      position.altitudeHAEMetres = fields.number()
      // NF no fix, DR dead reckoning, G2 and G3 stand-alone, D2 and D3 differential, RK combined, TT time only.
      let status = fields.bytes()
      if status.spells("G2") {
        (position.mode, position.status) = (.twoDimensional, .gnss)
      } else if status.spells("G3") || status.spells("RK") {
        (position.mode, position.status) = (.threeDimensional, .gnss)
      } else if status.spells("D2") {
        (position.mode, position.status) = (.twoDimensional, .differential)
      } else if status.spells("D3") {
        (position.mode, position.status) = (.threeDimensional, .differential)
      } else if status.spells("DR") {
        (position.mode, position.status) = (.twoDimensional, .deadReckoning)
      } else if status.spells("TT") {
        // A timing receiver has a surveyed position.
        (position.mode, position.status) = (.threeDimensional, .surveyed)
      }
      position.horizontalAccuracyMetres = fields.number()
      position.verticalAccuracyMetres = fields.number()
      position.speedMetresPerSecond = fields.number().map { $0 * Unit.metresPerSecondPerKilometrePerHour }
      position.trackDegrees = fields.direction()
      position.downMetresPerSecond = fields.number()
      fields.skip()
      position.hdop = fields.number()
      position.vdop = fields.number()
      fields.skip()
      position.satellitesUsed = UInt8(clamping: fields.integer() ?? 0)
      self = .position(position)
    case 4:
      let time = fields.timeOfDay()
      self = .time(time, fields.date())
    default: return nil
    }
  }
}
