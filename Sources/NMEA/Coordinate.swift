/// A point on the WGS 84 ellipsoid.
public struct Coordinate: Equatable, Sendable {
  /// Geodetic latitude, -90 to 90, positive north.
  public var latitudeDegrees: Double
  /// Longitude, -180 to 180, positive east.
  public var longitudeDegrees: Double

  public init(latitudeDegrees: Double, longitudeDegrees: Double) {
    self.latitudeDegrees = latitudeDegrees
    self.longitudeDegrees = longitudeDegrees
  }
}
