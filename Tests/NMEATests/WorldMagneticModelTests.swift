import Glibc
import Testing

@testable import NMEA

/// The model compared with another implementation (pygeomag 1.1.0 with its WMM_2025.COF) at random places and dates.
struct WorldMagneticModelTests {
  /// Each row has latitude, longitude and year, then the variation in degrees and the horizontal and downward field in
  /// microtesla.
  private static let expected: [(Double, Double, Double, Double, Double, Double)] = [
    (-20.6302, -125.6943, 2028.25, 12.979, 28.0461, -16.0572),
    (-58.7738, 12.9175, 2026.83, -29.574, 16.1125, -25.7102),
    (-62.129, 2.6769, 2025.19, -22.038, 16.5266, -26.6999),
    (-7.6261, -154.852, 2025.45, 10.483, 32.2765, -7.7922),
    (-8.6827, 117.6668, 2025.62, 0.795, 37.7478, -24.1682),
    (-33.609, 45.876, 2029.74, -38.172, 16.8260, -30.9336),
    (8.8707, -37.195, 2029.88, -15.111, 29.5298, 0.4393),
    (-65.0715, 129.0486, 2026.45, -123.545, 2.5301, -66.2142),
    (-45.3563, -137.5948, 2026.54, 26.526, 22.8008, -39.9681),
    (39.2165, -114.9385, 2027.91, 11.349, 21.8419, 44.1538),
    (16.1306, -45.9369, 2027.74, -15.742, 29.7759, 13.0091),
    (-60.9766, -158.5436, 2026.03, 47.153, 16.3280, -55.2837),
    (21.1493, -26.0668, 2026.57, -8.123, 31.9434, 13.7310),
    (9.8532, -16.8536, 2026.5, -6.730, 31.3035, -3.0655),
    (36.069, 71.638, 2026.22, 3.634, 29.1512, 42.9892),
    (8.5601, 9.0707, 2029.38, 0.547, 33.3394, -4.3191),
    (27.3155, -76.3424, 2029.9, -9.916, 25.1426, 34.7334),
    (-49.8064, -29.4758, 2028.79, -11.780, 13.2079, -21.4970),
    (-44.1094, -3.9733, 2025.2, -20.310, 10.5540, -21.1418),
    (19.6596, 95.2455, 2027.87, -0.697, 39.5973, 22.0542),
    (48.6732, -67.0509, 2028.48, -16.303, 18.1833, 49.9799),
    (10.8792, 28.7623, 2027.28, 3.284, 35.4145, 2.7403),
    (42.8386, 160.0852, 2027.37, -4.360, 26.3581, 37.9864),
    (19.1659, -158.159, 2028.51, 9.058, 27.6001, 19.7167),
    (17.113, 177.5145, 2029.11, 8.060, 30.1033, 14.5914),
    (-25.5189, -41.1151, 2028.34, -23.096, 15.6175, -17.0290),
    (-72.7219, -13.7897, 2025.84, -11.476, 18.9283, -34.4990),
    (-49.979, -158.7764, 2028.84, 31.764, 20.4071, -48.9420),
    (-47.8439, -90.8587, 2026.95, 22.536, 21.4550, -25.3916),
    (47.9742, -150.9907, 2027.25, 12.774, 21.5872, 43.2289),
    (5.6747, 138.0182, 2029.1, 0.318, 37.7817, -2.9625),
    (46.7164, -79.7684, 2027.08, -10.498, 17.5798, 51.3030),
    (-16.4069, 138.3094, 2029.79, 4.255, 33.7898, -34.1073),
    (-44.2794, -116.5616, 2026.16, 25.555, 22.9587, -32.7949),
    (-32.2306, -5.4134, 2027.95, -21.602, 9.5262, -22.2008),
    (-28.3272, -178.5263, 2027.09, 16.645, 28.6245, -37.7452),
    (-15.1587, 23.8828, 2029.77, -5.576, 17.8819, -24.2444),
    (22.3949, 5.5769, 2028.09, 1.534, 34.0117, 16.7640),
    (20.6342, -160.5626, 2029.5, 8.993, 27.3146, 20.6205),
    (34.0516, 134.8247, 2028.99, -8.108, 31.4233, 35.5016),
  ]

  private func difference(_ a: Double, _ b: Double) -> Double {
    let turned = a - b
    return abs(turned - (turned / 360).rounded() * 360)
  }

  @Test func `the field at forty places agrees with another implementation`() {
    for (latitude, longitude, year, variation, horizontal, down) in WorldMagneticModelTests.expected {
      let place = Coordinate(latitudeDegrees: latitude, longitudeDegrees: longitude)
      let field = WorldMagneticModel.field(at: place, year: year)
      let found = EarthModel.magneticVariationDegrees(at: place, year: year)
      #expect(difference(found, variation) < 0.002, "\(latitude) \(longitude)")
      #expect(abs((field.x * field.x + field.y * field.y).squareRoot() - horizontal) < 0.001)
      #expect(abs(field.z - down) < 0.001)
    }
  }

  /// The places are Berlin, London, Reykjavik, Tromsø, Luleå and Alert at the end of 2026, and some where the short way
  /// between neighbours on a grid crosses 180 degrees.
  @Test(
    arguments: [
      (52.52, 13.40, 5.2), (51.51, -0.13, 1.2), (64.15, -21.94, -11.0), (69.65, 18.96, 11.3), (65.58, 22.15, 11.4),
      (82.50, -62.35, -38.9), (-75, 142.5, 177.2),
    ])
  func `known places have their known variation`(_ latitude: Double, _ longitude: Double, _ variation: Double) {
    let place = Coordinate(latitudeDegrees: latitude, longitudeDegrees: longitude)
    #expect(difference(EarthModel.magneticVariationDegrees(at: place, year: 2026.9), variation) < 0.2)
  }

  @Test func `a pole, an impossible date and a missing date give finite numbers`() {
    for latitude in [-90.0, 0, 90] {
      for year in [nil, -1e6, 1980, 2099, 1e9] as [Double?] {
        let place = Coordinate(latitudeDegrees: latitude, longitudeDegrees: 8)
        #expect(EarthModel.magneticVariationDegrees(at: place, year: year).isFinite)
      }
    }
    #expect(abs(EarthModel.year(nanosecondsSince1970: 1_798_761_600_000_000_000) - 2027) < 0.01)
  }

  @Test(arguments: [(-0.0004, 0.0), (359.9996, 0), (360, 0), (-0.001, 359.999), (719.5, 359.5), (12.3456, 12.346)])
  func `a bearing is rounded before it is wrapped to 360 degrees`(_ degrees: Double, _ bearing: Double) {
    #expect(abs(Angle.bearing(degrees, decimals: 3) - bearing) < 1e-9)
    #expect(Angle.bearing(degrees, decimals: 3).sign == .plus)
  }
}
