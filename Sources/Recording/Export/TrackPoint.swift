import NMEA

/// A point of a track: where the board was at a time, and how accurately this is known.
public struct TrackPoint: Equatable, Sendable {
  /// The time at which the board was at this point.
  public var time: UTCTime
  /// The latitude in WGS 84, from -90 to 90. The longitude is from -180 to 180.
  public var latitudeDegrees: Double
  public var longitudeDegrees: Double
  /// The height above mean sea level.
  public var altitudeMSLMetres: Double?
  /// The height above the ellipsoid.
  public var altitudeHAEMetres: Double?
  /// The standard deviation along one horizontal axis.
  public var horizontalSigmaMetres: Double?
  /// Whether the position is dead-reckoned.
  public var isReckoned = false
  /// The dimensions of the fix, 2 or 3; `nil` without a fix.
  public var fixMode: Int?
  /// The status in the gpsd protocol, for example 1 autonomous, 2 differential, 3 RTK fixed, 4 RTK float.
  public var fixStatus: Int?
  public var satellitesUsed: Int?
  public var hdop: Double?

  public init(time: UTCTime, latitudeDegrees: Double, longitudeDegrees: Double) {
    self.time = time
    self.latitudeDegrees = latitudeDegrees
    self.longitudeDegrees = longitudeDegrees
  }
}
