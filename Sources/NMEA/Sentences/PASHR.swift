/// Ashtech's sentence. Two forms are read: the 3D position (POS), and the attitude that inertial systems send under the
/// same name.
public enum PASHR: Equatable, Sendable {
  case position(Position)
  case attitude(Attitude)

  public struct Position: Equatable, Sendable {
    /// Whether the fix is differential; `nil` while there is no fix.
    public var isDifferential: Bool?
    public var satellitesUsed: UInt8
    public var time: TimeOfDay?
    public var position: Coordinate?
    /// The height above the ellipsoid, unlike in most sentences.
    public var altitudeHAEMetres: Double?
    public var trackDegrees: Double?
    public var speedMetresPerSecond: Double?
    public var climbMetresPerSecond: Double?
    public var pdop: Double?
    public var hdop: Double?
    public var vdop: Double?
  }

  public struct Attitude: Equatable, Sendable {
    public var time: TimeOfDay?
    public var headingDegrees: Double?
    public var rollDegrees: Double?
    public var pitchDegrees: Double?
  }

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 2 else { return nil }
    var attitude = fields
    let type = fields.bytes()
    if type.spells("POS") {
      var position = Position(satellitesUsed: 0)
      position.isDifferential = fields.integer().map { $0 >= 1 }
      position.satellitesUsed = UInt8(clamping: fields.integer() ?? 0)
      position.time = fields.timeOfDay()
      position.position = fields.coordinate()
      position.altitudeHAEMetres = fields.number()
      fields.skip()
      position.trackDegrees = fields.direction()
      position.speedMetresPerSecond = fields.number().map { $0 * Unit.metresPerSecondPerKnot }
      position.climbMetresPerSecond = fields.number()
      position.pdop = fields.number()
      position.hdop = fields.number()
      position.vdop = fields.number()
      self = .position(position)
    } else if let time = attitude.timeOfDay() {
      let heading = attitude.direction()
      guard attitude.character() == Byte.T else { return nil }
      let roll = attitude.number()
      let pitch = attitude.number()
      self = .attitude(Attitude(time: time, headingDegrees: heading, rollDegrees: roll, pitchDegrees: pitch))
    } else {
      return nil
    }
  }
}
