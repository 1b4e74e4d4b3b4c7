import Fusion
import MonotonicTime
import Testing

@testable import Outputs

/// GDL 90 messages for cockpits, compared with the examples of the specification (Garmin 560-1058-00 Rev A).
struct GDL90Tests {
  @Test func `the checksum matches the specification's example`() {
    #expect(GDL90Message.checksum([0x00, 0x81, 0x41, 0xDB, 0xD0, 0x08, 0x02]) == 0x8BB3)
  }

  @Test func `a heartbeat has the second of the day, with the lowest byte first`() {
    let early = GDL90Message.heartbeat(hasPosition: true, second: 53_467, counts: (8, 2))
    #expect(early.bytes == [0, 0x81, 0x01, 0xDB, 0xD0, 8, 2])
    let late = GDL90Message.heartbeat(hasPosition: false, second: 0x1_0203)
    #expect(late.bytes == [0, 0x01, 0x81, 0x03, 0x02, 0, 0])
    #expect(GDL90Message.heartbeat(hasPosition: false, second: nil).bytes == [0, 0x01, 0, 0, 0, 0, 0])
  }

  @Test func `an ownship report matches the specification's example`() {
    var own = GDL90Message.Ownship()
    own.latitudeDegrees = 44.907_07
    own.longitudeDegrees = -122.994_88
    (own.pressureAltitudeFeet, own.radiusMetres) = (5000, 20)
    (own.knots, own.feetPerMinute, own.trackDegrees) = (123, 64, 45)
    own.callsign = "N825V"
    let bytes = GDL90Message.ownship(own).bytes
    #expect(bytes.count == 28)
    #expect(Array(bytes[5...7]) == [0x1F, 0xEF, 0x15])
    #expect(Array(bytes[8...9]) == [0xA8, 0x89])
    // The bytes state 5000 feet, airborne with a true track; NACp 9; 123 knots, 64 feet a minute; 45 degrees; light;
    // the call sign.
    #expect(Array(bytes[11...12]) == [0x0F, 0x09])
    #expect(bytes[13] == 0x09)
    #expect(Array(bytes[14...18]) == [0x07, 0xB0, 0x01, 0x20, 0x01])
    #expect(Array(bytes[19...26]) == Array("N825V   ".utf8))
    let unknown = GDL90Message.ownship(.init()).bytes
    #expect(Array(unknown[11...16]) == [0xFF, 0xF0, 0x00, 0xFF, 0xF8, 0x00])
  }

  @Test func `a larger radius never states a better accuracy`() {
    // The limits of NACp are 2, 4 and 10 nautical miles; from there on it is 0.
    let radii = [1851.0, 1852, 3703, 3704, 7407, 7408, 18_519, 18_520, 50_000]
    let accuracies = radii.map { radius -> UInt8 in
      var own = GDL90Message.Ownship()
      own.radiusMetres = radius
      return GDL90Message.ownship(own).bytes[13] & 0x0F
    }
    #expect(accuracies == [4, 3, 3, 2, 2, 1, 1, 0, 0])
  }

  @Test func `flag bytes in the data are escaped`() {
    let frame = GDL90Message.heartbeat(hasPosition: true, second: 0x7D7E).frame
    #expect(frame.first == 0x7E && frame.last == 0x7E)
    #expect(Array(frame[1...7]) == [0, 0x81, 0x01, 0x7D, 0x5E, 0x7D, 0x5D])
    #expect(!frame.dropFirst().dropLast().contains(0x7E))
  }

  @Test func `a heading from magnetic north is marked`() throws {
    var state = FusedState(at: MonotonicInstant(nanoseconds: 100_000_000_000))
    func heading(_ north: FusedState.Attitude.North) throws -> [UInt8] {
      state.attitude = Dated(
        FusedState.Attitude(
          quaternion: Quaternion(roll: 0, pitch: 0, yaw: .pi / 2), inclinationSigmaRadians: 0.01,
          headingSigmaRadians: 0.1, north: north), at: state.at, source: .imu)
      return try #require(GDL90Report.attitude(of: state)).bytes[6...7].map { $0 }
    }
    #expect(try heading(.geographic(declinationRadians: nil)) == [0x03, 0x84])
    #expect(try heading(.magnetic) == [0x83, 0x84])
  }

  @Test func `unknown values are marked as unknown`() {
    var state = FusedState(at: MonotonicInstant(nanoseconds: 100_000_000_000))
    #expect(GDL90Report.position(of: state) == [.heartbeat(hasPosition: false, second: nil)])
    #expect(GDL90Report.attitude(of: state) == nil)
    state.position = Dated(
      FusedState.Position(
        latitudeDegrees: 52, longitudeDegrees: 13, altitudeHAEMetres: nil, altitudeMSLMetres: 38,
        horizontalSigmaMetres: 1, verticalSigmaMetres: nil), at: state.at, source: .gps)
    #expect(GDL90Report.position(of: state).map(\.bytes[0]) == [0, 10])
    #expect(abs(GDL90Report.pressureAltitudeFeet(101_325)) < 1)
    // The pressure is that of 5000 feet in the standard atmosphere.
    #expect(abs(GDL90Report.pressureAltitudeFeet(84_307) - 5000) < 20)
  }
}
