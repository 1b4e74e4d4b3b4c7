import NMEA
import Testing

@testable import Outputs

/// The position of the base station that supplies corrections.
struct BaseStationTests {
  /// The example of the standard RTCM 10403: station 2003, near Washington.
  private static let message: [UInt8] = [
    0xD3, 0x00, 0x13, 0x3E, 0xD7, 0xD3, 0x02, 0x02, 0x98, 0x0E, 0xDE, 0xEF, 0x34, 0xB4, 0xBD, 0x62, 0xAC, 0x09, 0x41,
    0x98, 0x6F, 0x33, 0x36, 0x0B, 0x98,
  ]

  @Test func `the position in the standard's example message is decoded`() throws {
    let place = try #require(BaseStation.place(1005, BaseStationTests.message))
    let error = place - SIMD3(1_114_104.5999, -4_850_729.7108, 3_975_521.4643)
    #expect((error * error).sum() < 1e-6, "\(place)")
    #expect(BaseStation.place(1077, BaseStationTests.message) == nil)
    #expect(BaseStation.place(1005, Array(BaseStationTests.message.prefix(20))) == nil)
  }

  @Test func `the distance to the base station is known once the receiver has a position`() throws {
    let place = try #require(BaseStation.place(1005, BaseStationTests.message))
    let base = try #require(EarthCentredPoint(place))
    var fix = GNSSFix()
    #expect(BaseStation.distance(of: place, from: fix) == nil && BaseStation.distance(of: place, from: nil) == nil)
    fix.mode = .threeDimensional
    fix.position = Coordinate(
      latitudeDegrees: base.coordinate.latitudeDegrees + 0.1, longitudeDegrees: base.coordinate.longitudeDegrees)
    fix.altitudeMSLMetres = base.altitudeHAEMetres
    fix.geoidSeparationMetres = 0
    // A tenth of a degree of latitude is eleven kilometres.
    let distance = try #require(BaseStation.distance(of: place, from: fix))
    #expect((11_050...11_150).contains(distance), "\(distance)")
  }
}
