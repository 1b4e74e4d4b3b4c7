#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The earth's magnetic field by place and date: the World Magnetic Model WMM2025, a harmonic expansion to degree 12
/// whose coefficients change linearly with time ("The US/UK World Magnetic Model for 2025-2030", NOAA NCEI Technical
/// Report). Outside the polar regions, its variation is accurate to about half a degree. Iron in the ground causes most
/// of the error.
public enum WorldMagneticModel {
  private static let epoch = 2025.0
  /// The year in which the model ends.
  public static let endYear = 2030
  /// The year to use without a date: the middle of the model's validity.
  public static let usualYear = 2027.5
  /// The longest extrapolation from the model's epoch, years. Beyond it the linear change is meaningless.
  private static let longestExtrapolation = 10.0
  private static let degree = 12
  /// The radius of the model's sphere, metres.
  private static let referenceRadius = 6_371_200.0
  private static let semiMajorAxis = 6_378_137.0
  private static let eccentricitySquared = 6.694_379_990_141_3e-3
  /// The highest latitude for the formulas, because north and east are undefined at a pole.
  private static let northernmost = 89.9999

  /// The field north, east, down, in microtesla.
  ///
  /// - Parameters:
  ///   - altitudeMetres: the height above the ellipsoid
  ///   - year: the year with its fraction; `nil` if the date is unknown
  public static func field(
    at coordinate: Coordinate, altitudeMetres: Double = 0, year: Double? = nil
  ) -> SIMD3<Double> {
    let limit = longestExtrapolation
    let elapsed = max(-limit, min(limit, (year ?? usualYear) - epoch))
    let latitude = max(-northernmost, min(northernmost, coordinate.latitudeDegrees)) * .pi / 180
    let longitude = coordinate.longitudeDegrees * .pi / 180
    // Convert from the ellipsoid to the sphere: the radius, and the latitude as seen from the centre.
    let sine = sin(latitude)
    let transverse = semiMajorAxis / (1 - eccentricitySquared * sine * sine).squareRoot()
    let fromAxis = (transverse + altitudeMetres) * cos(latitude)
    let height = (transverse * (1 - eccentricitySquared) + altitudeMetres) * sine
    let radius = (fromAxis * fromAxis + height * height).squareRoot()
    let onSphere = SphericalPoint(
      sine: height / radius, cosine: fromAxis / radius, longitude: longitude, ratio: referenceRadius / radius)
    let spherical = onSphere.sum(coefficients, years: elapsed, degree: degree)
    // Rotate the field back to the ellipsoid's horizon.
    let tilt = atan2(height, fromAxis) - latitude
    let north = spherical.x * cos(tilt) - spherical.z * sin(tilt)
    let down = spherical.x * sin(tilt) + spherical.z * cos(tilt)
    return SIMD3(north, spherical.y, down) / 1000
  }
}

/// A point in the form that the harmonic functions need.
private struct SphericalPoint {
  /// The sine of the latitude as seen from the centre.
  var sine: Double
  var cosine: Double
  /// The longitude in radians.
  var longitude: Double
  /// The model's radius divided by the point's.
  var ratio: Double

  /// The field north, east, down on the sphere, in nanotesla.
  ///
  /// The sum is computed order by order, with Schmidt's semi-normalised Legendre functions P and their derivatives by
  /// latitude. From P(0,0) = 1 and P(1,1) = cos φ follow:
  ///
  ///     P(m,m) = √((2m-1)/2m) cos φ P(m-1,m-1)
  ///     P(n,m) √(n²-m²) = (2n-1) sin φ P(n-1,m) - √((n-1)²-m²) P(n-2,m)
  func sum(_ coefficients: [Double], years: Double, degree: Int) -> SIMD3<Double> {
    var total = SIMD3<Double>.zero
    var index = 0
    var sectoral = (value: 1.0, slope: 0.0)
    var orderRatio = ratio * ratio
    for m in 0...degree {
      let order = Double(m)
      if m > 0 {
        let factor = m == 1 ? 1 : ((2 * order - 1) / (2 * order)).squareRoot()
        let slope = cosine * sectoral.slope - sine * sectoral.value
        sectoral = (factor * cosine * sectoral.value, factor * slope)
        orderRatio *= ratio
      }
      let (c, s) = (cos(order * longitude), sin(order * longitude))
      var before = (value: 0.0, slope: 0.0)
      var now = sectoral
      var power = orderRatio
      for n in m...degree {
        let number = Double(n)
        if n > m {
          let grow = 2 * number - 1
          let shrink = ((number - 1) * (number - 1) - order * order).squareRoot()
          let scale = (number * number - order * order).squareRoot()
          let value = (grow * sine * now.value - shrink * before.value) / scale
          let slope = grow * (sine * now.slope + cosine * now.value) - shrink * before.slope
          (before, now) = (now, (value, slope / scale))
          power *= ratio
        }
        if n == 0 { continue }
        let g = coefficients[index] + years * coefficients[index + 2]
        let h = coefficients[index + 1] + years * coefficients[index + 3]
        index += 4
        let along = power * (g * c + h * s)
        total.x -= along * now.slope
        total.y += power * order * (g * s - h * c) * now.value / cosine
        total.z -= (number + 1) * along * now.value
      }
    }
    return total
  }
}
