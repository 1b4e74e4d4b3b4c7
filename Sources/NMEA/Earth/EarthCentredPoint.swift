#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A point in earth-centred, earth-fixed coordinates, and where that is on the WGS 84 ellipsoid.
struct EarthCentredPoint {
  private static let semiMajorAxis = 6_378_137.0
  private static let flattening = 1 / 298.257_223_563

  let coordinate: Coordinate
  let altitudeHAEMetres: Double
  private let north: SIMD3<Double>
  private let east: SIMD3<Double>
  private let down: SIMD3<Double>

  /// `nil` for what is nowhere near the earth's surface.
  init?(_ metres: SIMD3<Double>) {
    let radius = (metres * metres).sum().squareRoot()
    guard (6_000_000...60_000_000).contains(radius) else { return nil }
    let eccentricity = EarthCentredPoint.flattening * (2 - EarthCentredPoint.flattening)
    let distance = (metres.x * metres.x + metres.y * metres.y).squareRoot()
    let longitude = atan2(metres.y, metres.x)
    // Converges by a factor of 300 with each round.
    var latitude = atan2(metres.z, distance * (1 - eccentricity))
    var normal = EarthCentredPoint.semiMajorAxis
    for _ in 0..<5 {
      let sine = sin(latitude)
      normal = EarthCentredPoint.semiMajorAxis / (1 - eccentricity * sine * sine).squareRoot()
      latitude = atan2(metres.z + eccentricity * normal * sine, distance)
    }
    let (sine, cosine) = (sin(latitude), cos(latitude))
    // Well behaved at the poles too.
    altitudeHAEMetres =
      distance * cosine + metres.z * sine - EarthCentredPoint.semiMajorAxis * EarthCentredPoint.semiMajorAxis / normal
    coordinate = Coordinate(latitudeDegrees: latitude * 180 / .pi, longitudeDegrees: longitude * 180 / .pi)
    north = SIMD3(-sine * cos(longitude), -sine * sin(longitude), cosine)
    east = SIMD3(-sin(longitude), cos(longitude), 0)
    down = SIMD3(-cosine * cos(longitude), -cosine * sin(longitude), -sine)
  }

  /// A vector here in the local frame.
  func northEastDown(_ vector: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3((vector * north).sum(), (vector * east).sum(), (vector * down).sum())
  }
}
