import Glibc

/// The properties of the earth that navigation needs: the WGS 84 ellipsoid, gravity and rotation.
public enum Earth {
  static let semiMajorAxis = 6_378_137.0
  static let eccentricitySquared = 6.694_379_990_141_3e-3
  /// The rotation of the earth in rad/s.
  static let rotation = 7.292_115e-5

  /// The radii of curvature in metres at a latitude in radians: along the meridian and perpendicular to it.
  static func radii(latitude: Double) -> (meridian: Double, transverse: Double) {
    let s = sin(latitude)
    let w = 1 - eccentricitySquared * s * s
    let transverse = semiMajorAxis / w.squareRoot()
    return (transverse * (1 - eccentricitySquared) / w, transverse)
  }

  /// Gravity in m/s², downwards (Somigliana's formula with the free-air correction).
  static func gravity(latitude: Double, altitude: Double) -> Double {
    let s = sin(latitude) * sin(latitude)
    let onEllipsoid = 9.780_325_335_9 * (1 + 1.931_852_652_41e-3 * s) / (1 - eccentricitySquared * s).squareRoot()
    return onEllipsoid - (3.087_7e-6 - 4.4e-9 * s) * altitude + 7.2e-14 * altitude * altitude
  }
}

/// A position on or above the ellipsoid. Angles are in radians, the altitude in metres above the ellipsoid.
public struct GeodeticPosition: Equatable, Sendable {
  public var latitude: Double
  public var longitude: Double
  public var altitude: Double

  public init(latitude: Double, longitude: Double, altitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
    self.altitude = altitude
  }

  /// A position from angles in degrees: the latitude from -90 to 90, and the longitude from -180 to 180.
  public init(latitudeDegrees: Double, longitudeDegrees: Double, altitude: Double) {
    self.init(latitude: latitudeDegrees * .pi / 180, longitude: longitudeDegrees * .pi / 180, altitude: altitude)
  }

  public var latitudeDegrees: Double { latitude * 180 / .pi }
  public var longitudeDegrees: Double { longitude * 180 / .pi }

  /// The vector from another nearby position to this one, in metres north, east, down.
  public func offset(from other: GeodeticPosition) -> SIMD3<Double> {
    let radii = Earth.radii(latitude: other.latitude)
    var turn = longitude - other.longitude
    turn -= (turn / (2 * .pi)).rounded() * 2 * .pi
    return SIMD3(
      (latitude - other.latitude) * (radii.meridian + other.altitude),
      turn * (radii.transverse + other.altitude) * cos(other.latitude), other.altitude - altitude)
  }

  /// The position at an offset from this one, in metres north, east, down.
  public func moved(by offset: SIMD3<Double>) -> GeodeticPosition {
    let radii = Earth.radii(latitude: latitude)
    // Within a metre of a pole, the longitude does not matter.
    let circle = max((radii.transverse + altitude) * cos(latitude), 1)
    var longitude = longitude + offset.y / circle
    longitude -= (longitude / (2 * .pi)).rounded() * 2 * .pi
    let latitude = latitude + offset.x / (radii.meridian + altitude)
    return GeodeticPosition(
      latitude: max(-.pi / 2, min(.pi / 2, latitude)), longitude: longitude, altitude: altitude - offset.z)
  }

  var isValid: Bool {
    latitude.isFinite && longitude.isFinite && altitude.isFinite && abs(latitude) <= .pi / 2
      && abs(longitude) <= 2 * .pi && abs(altitude) < 1e6
  }
}
