#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A point in earth-centred, earth-fixed axes (x to the prime meridian on the equator, z to the north pole; WGS 84),
/// and its local frame.
public struct EarthCentredPoint: Sendable {
  private static let semiMajorAxis = 6_378_137.0
  private static let eccentricitySquared = 6.694_379_990_141_3e-3

  public let metres: SIMD3<Double>
  public let coordinate: Coordinate
  public let altitudeHAEMetres: Double
  private let north: SIMD3<Double>
  private let east: SIMD3<Double>
  private let down: SIMD3<Double>

  public init(_ coordinate: Coordinate, altitudeHAEMetres: Double) {
    let latitude = coordinate.latitudeDegrees * .pi / 180
    let longitude = coordinate.longitudeDegrees * .pi / 180
    let transverse = EarthCentredPoint.transverseRadius(sin(latitude))
    let fromAxis = (transverse + altitudeHAEMetres) * cos(latitude)
    self.init(
      coordinate, altitudeHAEMetres,
      SIMD3(
        fromAxis * cos(longitude), fromAxis * sin(longitude),
        (transverse * (1 - EarthCentredPoint.eccentricitySquared) + altitudeHAEMetres) * sin(latitude)))
  }

  /// `nil` unless the point is between 6,000 and 60,000 km from the Earth's centre.
  public init?(_ metres: SIMD3<Double>) {
    let radius = (metres * metres).sum().squareRoot()
    guard (6_000_000...60_000_000).contains(radius) else { return nil }
    let distance = (metres.x * metres.x + metres.y * metres.y).squareRoot()
    // Each iteration reduces the error by a factor of 300.
    var latitude = atan2(metres.z, distance * (1 - EarthCentredPoint.eccentricitySquared))
    for _ in 0..<5 {
      let sine = sin(latitude)
      latitude = atan2(
        metres.z + EarthCentredPoint.eccentricitySquared * EarthCentredPoint.transverseRadius(sine) * sine, distance)
    }
    let sine = sin(latitude)
    // This formula also works at the poles.
    let height =
      distance * cos(latitude) + metres.z * sine - EarthCentredPoint.semiMajorAxis
      * (1 - EarthCentredPoint.eccentricitySquared * sine * sine).squareRoot()
    self.init(
      Coordinate(
        latitudeDegrees: latitude * 180 / .pi, longitudeDegrees: atan2(metres.y, metres.x) * 180 / .pi), height, metres)
  }

  private init(_ coordinate: Coordinate, _ altitudeHAEMetres: Double, _ metres: SIMD3<Double>) {
    self.metres = metres
    self.coordinate = coordinate
    self.altitudeHAEMetres = altitudeHAEMetres
    let latitude = coordinate.latitudeDegrees * .pi / 180
    let longitude = coordinate.longitudeDegrees * .pi / 180
    north = SIMD3(-sin(latitude) * cos(longitude), -sin(latitude) * sin(longitude), cos(latitude))
    east = SIMD3(-sin(longitude), cos(longitude), 0)
    down = SIMD3(-cos(latitude) * cos(longitude), -cos(latitude) * sin(longitude), -sin(latitude))
  }

  private static func transverseRadius(_ sine: Double) -> Double {
    semiMajorAxis / (1 - eccentricitySquared * sine * sine).squareRoot()
  }

  /// Rotates a vector from earth-centred axes to the local frame: north, east, down.
  public func northEastDown(_ earthCentred: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3((earthCentred * north).sum(), (earthCentred * east).sum(), (earthCentred * down).sum())
  }

  /// Rotates a vector from the local frame to earth-centred axes.
  public func earthCentred(northEastDown vector: SIMD3<Double>) -> SIMD3<Double> {
    vector.x * north + vector.y * east + vector.z * down
  }
}
