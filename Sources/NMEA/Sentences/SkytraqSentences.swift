/// Skytraq's own sentences: 030 is a fix in three dimensions with its velocity, 032 and 035 describe a baseline, and
/// 036 an attitude. Only the time of 032, of 035 and of the statistics in 033 is used.
public enum PSTI: Equatable, Sendable {
  case fix(Fix)
  case baseline(Stamp)
  case attitude(Attitude)
  case statistics(Stamp)

  /// The time of a sentence.
  public struct Stamp: Equatable, Sendable {
    public var time: TimeOfDay?
    public var date: CalendarDate?
  }

  public struct Fix: Equatable, Sendable {
    public var stamp: Stamp
    public var status: GLL.Status
    public var mode: ModeIndicator?
    public var position: Coordinate?
    public var altitudeMSLMetres: Double?
    public var velocity: Velocity?
    public var differentialAgeSeconds: Double?
  }

  public struct Attitude: Equatable, Sendable {
    public var stamp: Stamp
    public var headingDegrees: Double?
    public var pitchDegrees: Double?
    public var rollDegrees: Double?
    public var mode: ModeIndicator?
  }

  init?(_ fields: inout FieldReader) {
    switch fields.integer() {
    case 30:
      guard fields.remaining >= 14 else { return nil }
      var fix = Fix(stamp: Stamp(), status: .missing)
      fix.stamp.time = fields.timeOfDay()
      fix.status = GLL.Status(fields.character())
      fix.position = fields.coordinate()
      fix.altitudeMSLMetres = fields.number()
      let (east, north, up) = (fields.number(), fields.number(), fields.number())
      if let east, let north, let up {
        fix.velocity = Velocity(northMetresPerSecond: north, eastMetresPerSecond: east, downMetresPerSecond: -up)
      }
      fix.stamp.date = fields.date()
      fix.mode = fields.character().map(ModeIndicator.init)
      let age = fields.number() ?? 0
      let ratio = fields.number() ?? 0
      // If both are zero, no corrections were received.
      fix.differentialAgeSeconds = age + ratio > 0.05 ? age : nil
      self = .fix(fix)
    case 32, 35:
      let stamp = Stamp(time: fields.timeOfDay(), date: fields.date())
      self = .baseline(fields.character() == Byte.A ? stamp : Stamp())
    case 33:
      let time = fields.timeOfDay()
      let date = fields.date()
      let version = fields.integer()
      guard version == 2 else { return nil }
      self = .statistics(Stamp(time: time, date: date))
    case 36:
      let stamp = Stamp(time: fields.timeOfDay(), date: fields.date())
      let heading = fields.number()
      let pitch = fields.number()
      let roll = fields.number()
      self = .attitude(
        Attitude(
          stamp: stamp, headingDegrees: heading, pitchDegrees: pitch, rollDegrees: roll,
          mode: fields.character().map(ModeIndicator.init)))
    default: return nil
    }
  }
}

/// Skytraq's diagnostic sentence, which has no checksum.
public struct STI: Equatable, Sendable {
  /// Whether the firmware reports an internal error (`IC`).
  public var isError: Bool

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 1 else { return nil }
    isError = fields.bytes().spells("IC")
  }
}
