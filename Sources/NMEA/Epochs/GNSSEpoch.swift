import UBX

/// The statements of a receiver about one epoch: everything it stated and nothing that it did not.
///
/// Two kinds of value are added if the receiver leaves them out: the geoid separation (with the altitude that follows
/// from it) and the magnetic variation, both interpolated from global models.
public struct GNSSFix: Equatable, Sendable {
  public var mode = FixMode.unknown
  public var status = FixStatus.unknown
  /// When the position was valid, by the receiver's clock; `nil` until it has stated a date.
  public var time: UTCTime?
  public var position: Coordinate?
  /// Above the WGS 84 ellipsoid.
  public var altitudeHAEMetres: Double?
  /// Above mean sea level, that is the geoid.
  public var altitudeMSLMetres: Double?
  /// Height of the geoid above the ellipsoid.
  public var geoidSeparationMetres: Double?
  public var speedMetresPerSecond: Double?
  /// Course over ground, degrees from true north, 0 to 360.
  public var trackDegrees: Double?
  /// Course over ground, degrees from magnetic north, 0 to 360.
  public var magneticTrackDegrees: Double?
  /// Positive where magnetic north lies east of true north.
  public var magneticVariationDegrees: Double?
  /// Where the receiver states all three components.
  public var velocity: Velocity?
  public var climbMetresPerSecond: Double?
  public var hdop: Double?
  public var vdop: Double?
  public var pdop: Double?
  /// Error estimates stated by the receiver itself, in the confidence it uses.
  public var horizontalErrorMetres: Double?
  public var latitudeErrorMetres: Double?
  public var longitudeErrorMetres: Double?
  public var verticalErrorMetres: Double?
  public var sphericalErrorMetres: Double?
  public var speedErrorMetresPerSecond: Double?
  public var trackErrorDegrees: Double?
  public var differentialAgeSeconds: Double?
  public var differentialStation: UInt16?
  public var depthMetres: Double?
  public var waterTemperatureCelsius: Double?
  public var satellitesUsed: UInt8?
  /// One standard deviation north, east, down, where the receiver states the covariance: metres, and m/s.
  public var positionSigmas: SIMD3<Float>?
  public var velocitySigmas: SIMD3<Float>?
  /// Of its time, seconds.
  public var timeErrorSeconds: Double?
  /// As of the epoch: of the receiver rather than of its solution.
  public var interference = Interference()
  /// `nil` of a receiver that states none, or none that is valid.
  public var antennaHeading: AntennaHeading?
  /// The state of the receiver's own inertial sensors at this epoch; `nil` if it states none.
  public var receiverFusion: FusionMode?
  /// By how much the pulse was off that was foretold before the epoch, seconds: against the second that it stands for.
  public var pulseErrorSeconds: Double?

  public init() {}
}

/// The receiver's own error statistics (GST), with the instant they belong to.
public struct GNSSErrorStatistics: Equatable, Sendable {
  public var time: UTCTime?
  public var statistics: GST
}

/// Attitude as a compass or a dual-antenna receiver reports it.
public struct NMEAAttitude: Equatable, Sendable {
  public var time: UTCTime?
  public var headingDegrees: Double?
  public var magneticHeadingDegrees: Double?
  public var pitchDegrees: Double?
  public var rollDegrees: Double?
  /// Degrees per minute, positive to starboard.
  public var rateOfTurnDegreesPerMinute: Double?
  /// Magnetic field, in the transducer's own unit.
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
  /// When its first byte was read, in nanoseconds of the clock that the sentences were read by.
  public var beganAt: Int64
}
