#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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

/// Velocity over ground in the local north, east, down frame, metres per second.
public struct Velocity: Equatable, Sendable {
  public var northMetresPerSecond: Double
  public var eastMetresPerSecond: Double
  public var downMetresPerSecond: Double

  public init(northMetresPerSecond: Double, eastMetresPerSecond: Double, downMetresPerSecond: Double) {
    self.northMetresPerSecond = northMetresPerSecond
    self.eastMetresPerSecond = eastMetresPerSecond
    self.downMetresPerSecond = downMetresPerSecond
  }
}

/// Operations on directions in degrees.
public enum Angle {
  /// Rounds a direction for printing. The direction is wrapped after rounding, so that the result is never 360.
  ///
  ///     Angle.bearing(-0.0004, decimals: 3)   // 0, and not 360
  ///
  /// - Returns: 0 to less than 360
  public static func bearing(_ degrees: Double, decimals: Int) -> Double {
    var scale = 1.0
    for _ in 0..<max(0, decimals) { scale *= 10 }
    let steps = (degrees * scale).rounded()
    let turned = steps.truncatingRemainder(dividingBy: 360 * scale)
    if turned == 0 { return 0 }
    return (turned < 0 ? turned + 360 * scale : turned) / scale
  }

  /// The direction as 0 to less than 360 degrees.
  static func onCircle(_ degrees: Double) -> Double {
    let remainder = degrees.truncatingRemainder(dividingBy: 360)
    return remainder < 0 ? remainder + 360 : remainder
  }
}

extension Velocity {
  public var speedMetresPerSecond: Double {
    (northMetresPerSecond * northMetresPerSecond + eastMetresPerSecond * eastMetresPerSecond).squareRoot()
  }

  /// The course in degrees from true north, 0 to less than 360.
  public var trackDegrees: Double {
    Angle.onCircle(atan2(eastMetresPerSecond, northMetresPerSecond) * 180 / .pi)
  }
}

extension Coordinate {
  /// The geodesic distance between two near points, by the ellipsoid's radii of curvature at their middle. The distance
  /// is accurate to a millionth up to a few kilometres.
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
