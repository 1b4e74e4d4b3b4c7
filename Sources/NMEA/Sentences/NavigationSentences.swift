/// Recommended minimum data: time with its date, position, speed and course.
public struct RMC: Equatable, Sendable {
  public var time: TimeOfDay?
  /// Whether the status field is `A`, or `D` as in many RTK receivers, and the mode, if present, is neither `N` nor
  /// `V`.
  public var isValid: Bool
  public var position: Coordinate?
  public var speedMetresPerSecond: Double?
  /// The course over ground, degrees from true north.
  public var trackDegrees: Double?
  public var date: CalendarDate?
  /// Whether the date field held anything, even an invalid date.
  public var hasDateField: Bool
  /// The magnetic variation; positive if magnetic north is east of true north.
  public var magneticVariationDegrees: Double?
  public var mode: ModeIndicator?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 7 else { return nil }
    time = fields.timeOfDay()
    let status = GLL.Status(fields.character())
    position = fields.coordinate()
    speedMetresPerSecond = fields.number().map { $0 * Unit.metresPerSecondPerKnot }
    trackDegrees = fields.direction()
    var dateField = fields
    hasDateField = dateField.character() != nil
    date = fields.date()
    let variation = fields.number()
    switch fields.character() {
    case Byte.E: magneticVariationDegrees = variation
    case Byte.W: magneticVariationDegrees = variation.map { -$0 }
    default: magneticVariationDegrees = nil
    }
    mode = fields.character().map(ModeIndicator.init)
    isValid = status == .valid && mode != .invalid
  }
}

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
  /// Whether the receiver warns that the position must not be used (navigational status U, NMEA 4.1). V is not a
  /// warning: it only means that the receiver gives no navigational status, and u-blox receivers always send it.
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

/// Geographic position: latitude, longitude and time.
public struct GLL: Equatable, Sendable {
  public var position: Coordinate?
  public var time: TimeOfDay?
  public var status: Status
  public var mode: ModeIndicator?

  public enum Status: Sendable {
    case valid
    case invalid
    /// The field is empty, as in older receivers, so the status is unknown.
    case missing

    /// Reads the status. `A` is valid, and so is `D`, with which many RTK receivers mark a differential fix. All other
    /// letters are warnings.
    @inline(__always)
    init(_ letter: UInt8?) {
      switch letter {
      case Byte.A, Byte.D: self = .valid
      case nil: self = .missing
      default: self = .invalid
      }
    }
  }

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    position = fields.coordinate()
    time = fields.timeOfDay()
    status = Status(fields.character())
    mode = fields.character().map(ModeIndicator.init)
  }
}

/// Course and speed over ground.
public struct VTG: Equatable, Sendable {
  /// The course in degrees from true north.
  public var trackDegrees: Double?
  /// The course in degrees from magnetic north.
  public var magneticTrackDegrees: Double?
  public var speedMetresPerSecond: Double?
  public var mode: ModeIndicator?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 4 else { return nil }
    trackDegrees = fields.direction()
    fields.skip()
    magneticTrackDegrees = fields.direction()
    fields.skip()
    speedMetresPerSecond = fields.number().map { $0 * Unit.metresPerSecondPerKnot }
    fields.skip(3)
    mode = fields.character().map(ModeIndicator.init)
  }
}

/// Time and date, with the century.
public struct ZDA: Equatable, Sendable {
  public var time: TimeOfDay?
  public var date: CalendarDate?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 4 else { return nil }
    time = fields.timeOfDay()
    let day = fields.integer()
    let month = fields.integer()
    let year = fields.integer()
    date =
      if let day, let month, let year { CalendarDate(year: year, month: month, day: day) } else { nil }
  }
}

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

/// The datum that positions refer to.
public struct DTM: Equatable, Sendable {
  public var datum: Datum?
  public var latitudeOffsetMinutes: Double?
  public var longitudeOffsetMinutes: Double?

  public enum Datum: Equatable, Sendable {
    case wgs84
    case wgs72
    case soviet85
    case pz90
    case userDefined
    /// The datum is local, with an IHO code. Positions may be wrong by hundreds of metres.
    case local
  }

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 1 else { return nil }
    let code = fields.bytes()
    datum =
      if code.isEmpty { nil } else if code.spells("W84") { .wgs84 } else if code.spells("W72") {
        .wgs72
      } else if code.spells("S85") { .soviet85 } else if code.spells("P90") {
        .pz90
      } else if code.spells("999") { .userDefined } else { .local }
    fields.skip()
    let latitude = fields.number()
    latitudeOffsetMinutes = fields.character() == Byte.S ? latitude.map { -$0 } : latitude
    let longitude = fields.number()
    longitudeOffsetMinutes = fields.character() == Byte.W ? longitude.map { -$0 } : longitude
  }
}
