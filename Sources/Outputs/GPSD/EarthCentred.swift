import Glibc

/// Positions and velocities in earth-centred, earth-fixed axes: x to the prime meridian on the equator, z to the north
/// pole (WGS 84).
enum EarthCentred {
  private static let semiMajorAxis = 6_378_137.0
  private static let eccentricitySquared = 6.694_379_990_141_3e-3

  /// Metres.
  static func position(
    latitudeDegrees: Double, longitudeDegrees: Double, altitudeHAEMetres: Double
  ) -> SIMD3<Double> {
    let (latitude, longitude) = (latitudeDegrees * .pi / 180, longitudeDegrees * .pi / 180)
    let transverse = semiMajorAxis / (1 - eccentricitySquared * sin(latitude) * sin(latitude)).squareRoot()
    let fromAxis = (transverse + altitudeHAEMetres) * cos(latitude)
    return SIMD3(
      fromAxis * cos(longitude), fromAxis * sin(longitude),
      (transverse * (1 - eccentricitySquared) + altitudeHAEMetres) * sin(latitude))
  }

  /// - Parameter velocity: north, east, down
  static func velocity(
    _ velocity: SIMD3<Double>, latitudeDegrees: Double, longitudeDegrees: Double
  ) -> SIMD3<Double> {
    let (latitude, longitude) = (latitudeDegrees * .pi / 180, longitudeDegrees * .pi / 180)
    let north = SIMD3(-sin(latitude) * cos(longitude), -sin(latitude) * sin(longitude), cos(latitude))
    let east = SIMD3(-sin(longitude), cos(longitude), 0)
    let down = SIMD3(-cos(latitude) * cos(longitude), -cos(latitude) * sin(longitude), -sin(latitude))
    return velocity.x * north + velocity.y * east + velocity.z * down
  }
}
