import UBX

/// A receiver's statements about one epoch.
///
/// Values that the receiver omits are derived where possible: speed, course and climb from the velocity, speed and
/// climb also from the previous epoch, and each altitude and each course from the other one. The geoid separation and
/// the magnetic variation come from global models.
public struct GNSSFix: Equatable, Sendable {
  public var mode = FixMode.unknown
  public var status = FixStatus.unknown
  /// The time of the position by the receiver's clock; `nil` until the receiver has stated a date.
  public var time: UTCTime?
  public var position: Coordinate?
  /// The height above the WGS 84 ellipsoid.
  public var altitudeHAEMetres: Double?
  /// The height above mean sea level, that is, above the geoid.
  public var altitudeMSLMetres: Double?
  /// The height of the geoid above the ellipsoid.
  public var geoidSeparationMetres: Double?
  public var speedMetresPerSecond: Double?
  /// Course over ground, degrees from true north, 0 to 360.
  public var trackDegrees: Double?
  /// Course over ground, degrees from magnetic north, 0 to 360.
  public var magneticTrackDegrees: Double?
  /// The magnetic variation; positive if magnetic north is east of true north.
  public var magneticVariationDegrees: Double?
  /// The velocity, if the receiver states all three components.
  public var velocity: Velocity?
  /// The vertical speed, positive up.
  public var climbMetresPerSecond: Double?
  public var hdop: Double?
  public var vdop: Double?
  public var pdop: Double?
  /// The receiver's own error estimates, at the confidence level that the receiver uses.
  public var horizontalErrorMetres: Double?
  public var latitudeErrorMetres: Double?
  public var longitudeErrorMetres: Double?
  public var verticalErrorMetres: Double?
  public var sphericalErrorMetres: Double?
  public var speedErrorMetresPerSecond: Double?
  public var trackErrorDegrees: Double?
  public var differentialAgeSeconds: Double?
  public var differentialStation: UInt16?
  /// The depth of the water; see `Depth` for the reference.
  public var depthMetres: Double?
  public var waterTemperatureCelsius: Double?
  public var satellitesUsed: UInt8?
  /// The standard deviations north, east, down if the receiver states the covariance, in metres and in m/s.
  public var positionSigmas: SIMD3<Float>?
  public var velocitySigmas: SIMD3<Float>?
  public var timeErrorSeconds: Double?
  /// The interference at the epoch. It is a property of the receiver, and not of its solution.
  public var interference = Interference()
  /// The heading of the bow; `nil` if the receiver states no valid heading.
  public var antennaHeading: AntennaHeading?
  /// The state of the receiver's own inertial fusion at this epoch; `nil` if the receiver states none.
  public var receiverFusion: FusionMode?
  /// The error of the time pulse relative to the second that it marks, as the receiver predicted it before the epoch,
  /// seconds.
  public var pulseErrorSeconds: Double?

  public init() {}
}

/// The receiver's own error statistics (GST), and their time.
public struct GNSSErrorStatistics: Equatable, Sendable {
  public var time: UTCTime?
  public var statistics: GST
}

/// An attitude that compasses, dual-antenna receivers and inertial systems have stated.
public struct NMEAAttitude: Equatable, Sendable {
  public var time: UTCTime?
  public var headingDegrees: Double?
  public var magneticHeadingDegrees: Double?
  public var pitchDegrees: Double?
  public var rollDegrees: Double?
  /// The rate of turn in degrees per minute, positive to starboard.
  public var rateOfTurnDegreesPerMinute: Double?
  /// The magnetic field along the transducer's axes, in the transducer's own unit.
  public var magneticX: Double?
  public var magneticY: Double?
  public var magneticZ: Double?

  public init() {}
}

/// One complete epoch, valid only during the call that passes it.
public struct GNSSEpoch: ~Copyable, Sendable {
  public var fix: GNSSFix
  /// The satellites; empty unless a complete list arrived since the last epoch.
  public var sky: Sky
  public var errorStatistics: GNSSErrorStatistics?
  /// When the epoch's first byte was read, in nanoseconds of the clock that gave its sentences their reading times.
  public var beganAt: Int64
}

/// The number of known dimensions of a position. Raw values are the numbers in GSA and of gpsd.
public enum FixMode: UInt8, Equatable, Comparable, Sendable {
  /// No information about a fix has arrived yet.
  case unknown = 0
  case noFix = 1
  case twoDimensional = 2
  case threeDimensional = 3

  init?(gsa value: UInt8) {
    guard (1...3).contains(value) else { return nil }
    self.init(rawValue: value)
  }

  public static func < (lhs: FixMode, rhs: FixMode) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// The source of a fix. Raw values are the numbers of gpsd's `status`.
public enum FixStatus: UInt8, Equatable, Sendable {
  case unknown = 0
  case gnss = 1
  case differential = 2
  case rtkFixed = 3
  case rtkFloat = 4
  case deadReckoning = 5
  case surveyed = 7
  case simulated = 8
  case precise = 9

  init(_ quality: GGA.Quality) {
    switch quality {
    case .invalid: self = .unknown
    case .autonomous: self = .gnss
    case .differential: self = .differential
    case .precise: self = .precise
    case .rtkFixed: self = .rtkFixed
    case .rtkFloat: self = .rtkFloat
    case .estimated: self = .deadReckoning
    case .manual: self = .surveyed
    case .simulator: self = .simulated
    }
  }

  init(_ mode: ModeIndicator?) {
    switch mode {
    case nil, .invalid: self = .unknown
    case .autonomous, .other: self = .gnss
    case .differential: self = .differential
    case .precise: self = .precise
    case .estimated: self = .deadReckoning
    case .rtkFloat: self = .rtkFloat
    case .rtkFixed: self = .rtkFixed
    case .manual: self = .surveyed
    case .simulator: self = .simulated
    }
  }
}
