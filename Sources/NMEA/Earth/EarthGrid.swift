#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A property of the globe, sampled every 5 degrees. Values between the samples are interpolated bilinearly.
struct EarthGrid: Sendable {
  private static let stepDegrees = 5.0
  private static let columns = 73
  private static let rows = 37

  private let hundredths: [Int16]

  /// - Parameter hundredths: 37 rows of 73 columns, south to north and west to east, in hundredths of the unit.
  init(hundredths: [Int16]) {
    precondition(hundredths.count == EarthGrid.rows * EarthGrid.columns)
    self.hundredths = hundredths
  }

  func value(at coordinate: Coordinate) -> Double {
    let row = (coordinate.latitudeDegrees + 90) / EarthGrid.stepDegrees
    let column = (coordinate.longitudeDegrees + 180) / EarthGrid.stepDegrees
    let south = min(max(Int(row), 0), EarthGrid.rows - 2)
    let west = min(max(Int(column), 0), EarthGrid.columns - 2)
    let northward = row - Double(south)
    let eastward = column - Double(west)
    func sample(_ row: Int, _ column: Int) -> Double { Double(hundredths[row * EarthGrid.columns + column]) }
    let southern = sample(south, west) * (1 - eastward) + sample(south, west + 1) * eastward
    let northern = sample(south + 1, west) * (1 - eastward) + sample(south + 1, west + 1) * eastward
    return (southern * (1 - northward) + northern * northward) / 100
  }
}

/// Models of the Earth for values that a receiver leaves out.
public enum EarthModel {
  /// The height of the geoid above the WGS 84 ellipsoid, metres, accurate to a few metres.
  public static func geoidSeparationMetres(at coordinate: Coordinate) -> Double {
    EarthGrid.geoid.value(at: coordinate)
  }

  /// The magnetic variation, degrees, positive east; see `WorldMagneticModel`.
  ///
  /// - Parameter year: the year with its fraction; `nil` if the date is unknown
  public static func magneticVariationDegrees(at coordinate: Coordinate, year: Double?) -> Double {
    let field = WorldMagneticModel.field(at: coordinate, year: year)
    return atan2(field.y, field.x) * 180 / .pi
  }

  /// The year of an instant with its fraction, accurate to a day.
  public static func year(nanosecondsSince1970: Int64) -> Double { 1970 + Double(nanosecondsSince1970) / 31_556_952e9 }
}
