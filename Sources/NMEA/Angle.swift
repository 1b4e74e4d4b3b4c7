#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

enum Angle {
  /// The same direction as 0 up to 360 degrees.
  static func onCircle(_ degrees: Double) -> Double {
    let remainder = degrees.truncatingRemainder(dividingBy: 360)
    return remainder < 0 ? remainder + 360 : remainder
  }
}

extension Velocity {
  public var speedMetresPerSecond: Double {
    (northMetresPerSecond * northMetresPerSecond + eastMetresPerSecond * eastMetresPerSecond).squareRoot()
  }

  /// Degrees from true north, 0 to 360.
  public var trackDegrees: Double {
    Angle.onCircle(atan2(eastMetresPerSecond, northMetresPerSecond) * 180 / .pi)
  }
}

extension Coordinate {
  /// Length of the short way between two near points, by the ellipsoid's radii of curvature half-way; better than a
  /// millionth up to some kilometres.
  func distanceMetres(to other: Coordinate) -> Double {
    let semiMajor = 6_378_137.0
    let eccentricitySquared = 6.694_379_990_141_316e-3
    let middle = (latitudeDegrees + other.latitudeDegrees) / 2 * .pi / 180
    let denominator = 1 - eccentricitySquared * sin(middle) * sin(middle)
    let primeVertical = semiMajor / denominator.squareRoot()
    let meridian = primeVertical * (1 - eccentricitySquared) / denominator
    let north = (latitudeDegrees - other.latitudeDegrees) * .pi / 180 * meridian
    var degreesEast = longitudeDegrees - other.longitudeDegrees
    if degreesEast > 180 { degreesEast -= 360 }
    if degreesEast < -180 { degreesEast += 360 }
    let east = degreesEast * .pi / 180 * primeVertical * cos(middle)
    return (north * north + east * east).squareRoot()
  }
}
