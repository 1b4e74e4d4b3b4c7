import NMEA
import Testing

/// The conversion between earth-centred and geographic coordinates.
struct EarthCentredPointTests {
  @Test(arguments: [
    (52.5, 13.25, 80.0), (-34.9062, 138.6081, 25.0), (0, 0, 0), (90, 0, 100), (-89.9999, -179.9999, 5000),
    (45, 90, -300),
  ])
  func `converting a place there and back gives the same place`(
    _ latitude: Double, _ longitude: Double, _ height: Double
  ) throws {
    let there = EarthCentredPoint(
      Coordinate(latitudeDegrees: latitude, longitudeDegrees: longitude), altitudeHAEMetres: height)
    let back = try #require(EarthCentredPoint(there.metres))
    #expect(abs(back.coordinate.latitudeDegrees - latitude) < 1e-9)
    // At a pole any longitude is correct.
    #expect(abs(latitude) == 90 || abs(back.coordinate.longitudeDegrees - longitude) < 1e-9)
    #expect(abs(back.altitudeHAEMetres - height) < 1e-3)
  }

  @Test func `the axes of the local frame point north, east and down`() throws {
    let equator = EarthCentredPoint(Coordinate(latitudeDegrees: 0, longitudeDegrees: 90), altitudeHAEMetres: 0)
    // At this point the y axis points up and the x axis west.
    #expect(distance(equator.northEastDown([0, 1, 0]), [0, 0, -1]) < 1e-12)
    #expect(distance(equator.earthCentred(northEastDown: [0, 1, 0]), [-1, 0, 0]) < 1e-12)
    #expect(EarthCentredPoint([1, 2, 3]) == nil && EarthCentredPoint([.nan, 0, 0]) == nil)
  }

  private func distance(_ first: SIMD3<Double>, _ second: SIMD3<Double>) -> Double {
    ((first - second) * (first - second)).sum().squareRoot()
  }
}
