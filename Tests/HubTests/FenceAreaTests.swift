import NMEA
import Testing

@testable import Hub

/// Distances to the edges of fences.
struct FenceAreaTests {
  private static func at(_ latitude: Double, _ longitude: Double) -> Coordinate {
    Coordinate(latitudeDegrees: latitude, longitudeDegrees: longitude)
  }

  private static func polygon(_ corners: [(Double, Double)]) throws(FenceArea.Refusal) -> FenceArea {
    try FenceArea(polygon: corners.map { at($0.0, $0.1) })
  }

  /// The ellipsoid's lengths of a thousandth of a degree, from geodetic tables.
  @Test(arguments: [
    (45.0, 0.0005, 0.0, 55.566), (0.0, 0.0, 0.001, 111.320), (60.0, 0.0, 0.001, 55.800), (0.0, 0.0005, 0.0, 55.287),
    (60.0, 0.0005, 0.0, 55.706),
  ])
  func `the distance from the middle of a circle to its edge follows the ellipsoid`(
    _ latitude: Double, _ north: Double, _ east: Double, _ metres: Double
  ) throws {
    let circle = try FenceArea(circleAbout: Self.at(latitude, 10), radiusMetres: 40)
    #expect(abs(circle.metresBeyond(Self.at(latitude + north, 10 + east)) + 40 - metres) < 0.01)
    #expect(circle.metresBeyond(Self.at(latitude, 10)) == -40)
  }

  /// The example of Vincenty's paper and of survey manuals: Flinders Peak to Buninyong, 54,972.271 m.
  @Test func `a distance of tens of kilometres is right to a metre`() throws {
    let flinders = Self.at(-(37 + 57 / 60.0 + 3.72030 / 3600), 144 + 25 / 60.0 + 29.52440 / 3600)
    let buninyong = Self.at(-(37 + 39 / 60.0 + 10.15610 / 3600), 143 + 55 / 60.0 + 35.38390 / 3600)
    let circle = try FenceArea(circleAbout: flinders, radiusMetres: 1000)
    #expect(abs(circle.metresBeyond(buninyong) - 53_972.271) < 1)
  }

  @Test(arguments: [0.0, 179.9995, -180.0, 13.4])
  func `a square is the same wherever it lies, also across the antimeridian`(_ west: Double) throws {
    func longitude(_ metres: Double) -> Double {
      let degrees = west + metres / 111_319.491
      return degrees > 180 ? degrees - 360 : degrees
    }
    func place(_ north: Double, _ east: Double) -> Coordinate { Self.at(north / 110_574.276, longitude(east)) }
    for corners in [
      [place(0, 0), place(0, 100), place(100, 100), place(100, 0)],
      // The polygon has the opposite orientation, and is closed.
      [place(0, 0), place(100, 0), place(100, 100), place(0, 100), place(0, 0)],
    ] {
      let square = try FenceArea(polygon: corners)
      #expect(abs(square.squareMetres - 10_000) < 1)
      #expect(abs(square.metresBeyond(place(50, 50)) + 50) < 0.01)
      #expect(abs(square.metresBeyond(place(50, 90)) + 10) < 0.01)
      #expect(abs(square.metresBeyond(place(50, 107)) - 7) < 0.01)
      #expect(abs(square.metresBeyond(place(103, 104)) - 5) < 0.01)
      #expect(abs(square.metresBeyond(place(-30, -40)) - 50) < 0.01)
      // The point is in line with two corners.
      #expect(abs(square.metresBeyond(place(100, -20)) - 20) < 0.01)
      // The point is on the other side of the earth.
      #expect(square.metresBeyond(Self.at(0, longitude(0) > 0 ? longitude(0) - 180 : longitude(0) + 180)) > 1e6)
    }
  }

  @Test func `a place between the arms of an L-shaped area is outside`() throws {
    func place(_ north: Double, _ east: Double) -> (Double, Double) { (north / 110_574.276, east / 111_319.491) }
    let angle = try Self.polygon([
      place(0, 0), place(0, 100), place(20, 100), place(20, 20), place(100, 20), place(100, 0),
    ])
    func beyond(_ north: Double, _ east: Double) -> Double {
      let (latitude, longitude) = place(north, east)
      return angle.metresBeyond(Self.at(latitude, longitude))
    }
    #expect(abs(beyond(50, 50) - 30) < 0.01)
    #expect(abs(beyond(10, 50) + 10) < 0.01)
    #expect(abs(beyond(60, 5) + 5) < 0.01)
    #expect(abs(angle.squareMetres - 3600) < 1)
  }

  static let refused: [(corners: [(Double, Double)], expected: String)] = [
    ([(0.0, 0.0), (0, 1e-3)], "a list of 3 to 256 corners"),
    ([(0, 0), (0, 1e-3), (0, 0)], "a list of 3 to 256 corners"),
    ([(0, 0), (0, 1e-3), (0, 2e-3)], "a polygon with an area: its corners are on one line"),
    ([(0, 0), (0, 1e-3), (1e-3, 1e-3), (1e-3, 1e-3)], "without repeated corners: corner 3 appears twice"),
    (
      [(0, 0), (1e-3, 1e-3), (0, 1e-3), (2e-3, 0)],
      "whose edges do not cross: the edges that begin at corners 1 and 3 cross; give the corners in their order "
        + "around it"
    ),
    ([(0, 0), (0, 1e-3), (10, 1e-3)], "within 100 km of the first: check for a mistyped corner"),
    ([(88, 0), (88, 1e-3), (88.001, 0)], "numbers from -85 to 85, and -180 to 180"),
    ([(0, 0), (0, 181), (1e-3, 0)], "numbers from -85 to 85, and -180 to 180"),
  ]

  @Test(arguments: refused)
  func `an invalid area is refused with the valid forms`(_ corners: [(Double, Double)], _ expected: String) throws {
    let refusal = #expect(throws: FenceArea.Refusal.self) { try Self.polygon(corners) }
    #expect(refusal?.expected.contains(expected) == true, "\(String(describing: refusal))")
  }
}
