import UBX

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

/// PGRMF: a whole fix in one sentence. The week and the seconds stay valid after a rollover of the GPS week; the date
/// does not.
public struct GarminFix: Equatable, Sendable {
  public var time: UTCTime?
  public var position: Coordinate?
  public var mode: FixMode?
  public var speedMetresPerSecond: Double?
  public var trackDegrees: Double?
  public var isValid: Bool

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 14 else { return nil }
    let week = fields.integer()
    let second = fields.integer()
    let date = fields.date()
    let timeOfDay = fields.timeOfDay()
    let leapSeconds = fields.integer()
    if let week, let second, let leapSeconds, (0..<8192).contains(week), (0...604_800).contains(second),
      (1..<100).contains(leapSeconds)
    {
      // GPS counts weeks from 1980-01-06, with ten bits on old receivers. The leap seconds show the era, because they
      // reached 13 just before the second era and 18 before the third.
      let era = week < 1024 ? (leapSeconds >= 18 ? 2048 : leapSeconds >= 13 ? 1024 : 0) : 0
      let gps = Int64(week + era) * 604_800 + Int64(second - leapSeconds)
      time = UTCTime(nanosecondsSince1970: (gps + 315_964_800) * 1_000_000_000)
    } else if let date, let timeOfDay {
      time = UTCTime(date: date, time: timeOfDay)
    }
    position = fields.coordinate()
    isValid = fields.character() == Byte.A
    switch fields.integer() {
    case 0: mode = .noFix
    case 1: mode = .twoDimensional
    case 2: mode = .threeDimensional
    default: mode = nil
    }
    speedMetresPerSecond = fields.number().map { $0 * Unit.metresPerSecondPerKilometrePerHour }
    trackDegrees = fields.direction()
  }
}

/// PGRMV: velocity in three dimensions.
public struct GarminVelocity: Equatable, Sendable {
  public var velocity: Velocity

  init?(_ fields: inout FieldReader) {
    guard let east = fields.number(), let north = fields.number(), let up = fields.number() else { return nil }
    velocity = Velocity(northMetresPerSecond: north, eastMetresPerSecond: east, downMetresPerSecond: -up)
  }
}

/// PGRMZ: altitude, in feet on the wire, and fix mode.
public struct GarminAltitude: Equatable, Sendable {
  public var altitudeMSLMetres: Double?
  public var mode: FixMode?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 3 else { return nil }
    let feet = fields.integer()
    altitudeMSLMetres =
      fields.character() == UInt8(ascii: "f") ? feet.map { Double($0) * Unit.metresPerFoot } : nil
    mode = fields.integer().flatMap { UInt8(exactly: $0) }.flatMap(FixMode.init(gsa:))
  }
}

/// PGRME: estimated position errors. Garmin does not define them; they are generally assumed to contain half of the
/// positions (circular error probable).
public struct GarminErrorEstimate: Equatable, Sendable {
  public var horizontalMetres: Double?
  public var verticalMetres: Double?
  public var sphericalMetres: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    horizontalMetres = fields.metres()
    verticalMetres = fields.metres()
    sphericalMetres = fields.metres()
  }
}

/// PSRFEPE: a SiRF receiver's estimated errors.
public struct SiRFErrorEstimate: Equatable, Sendable {
  public var time: TimeOfDay?
  public var isValid: Bool
  public var hdop: Double?
  public var horizontalMetres: Double?
  public var verticalMetres: Double?
  public var speedMetresPerSecond: Double?
  public var trackDegrees: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    time = fields.timeOfDay()
    isValid = fields.character() == Byte.A
    hdop = fields.number()
    horizontalMetres = fields.number()
    verticalMetres = fields.number()
    speedMetresPerSecond = fields.number()
    trackDegrees = fields.number()
  }
}

/// PMTK001: a MediaTek receiver's answer to a command.
public struct MediaTekAcknowledgement: Equatable, Sendable {
  public var command: Int
  public var result: Result

  public enum Result: Int, Sendable {
    case invalidCommand = 0
    case unsupportedCommand = 1
    case failed = 2
    case succeeded = 3
  }

  init?(_ fields: inout FieldReader) {
    guard let command = fields.integer(), let result = fields.integer().flatMap(Result.init) else { return nil }
    self.command = command
    self.result = result
  }
}

/// PAIRSPF, and PAIRSPF5 for the other band: an Airoha receiver's report of jamming, once PAIR391 has requested it.
public struct AirohaJamming: Equatable, Sendable {
  public var state: JammingReport
  public var isOtherBand: Bool

  init?(_ fields: inout FieldReader, isOtherBand: Bool) {
    guard let state = fields.integer().flatMap(UInt8.init(exactly:)).flatMap(JammingReport.init) else { return nil }
    self.state = state
    self.isOtherBand = isOtherBand
  }
}
