import Fusion
import HardwareIO
import MonotonicTime
import NMEA
import Testing

@testable import Outputs

/// Messages of NMEA 2000, compared with messages of real devices from canboat's public collection. The PyPI package
/// `nmea2000` decodes them, and the ones that the hub makes here, to the values of the states.
struct NMEA2000MessageTests {
  private static let now = MonotonicInstant(nanoseconds: 100_000_000_000)

  /// A state in which all parts were measured now.
  private func state(_ change: (inout FusedState) -> Void) -> FusedState {
    var state = FusedState(at: Self.now)
    state.mode = .gnss
    change(&state)
    return state
  }

  private func dated<Value>(_ value: Value) -> Dated<Value> { Dated(value, at: Self.now, source: .gps) }

  private func position(_ latitude: Double, _ longitude: Double, hae: Double? = nil, msl: Double? = nil)
    -> Dated<FusedState.Position>
  {
    dated(
      FusedState.Position(
        latitudeDegrees: latitude, longitudeDegrees: longitude, altitudeHAEMetres: hae, altitudeMSLMetres: msl,
        horizontalSigmaMetres: 1, verticalSigmaMetres: nil))
  }

  private func fix(_ text: (day: Int, second: Int, nanosecond: Int), isConfirmed: Bool = true)
    -> Dated<FusedState.FixQuality>
  {
    let utc = Int64(text.day * 86_400 + text.second) * 1_000_000_000 + Int64(text.nanosecond)
    var fix = FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 9, hdop: 0.9, utcNanoseconds: utc)
    fix.isTimeConfirmed = isConfirmed
    return dated(fix)
  }

  /// The content of a group in the messages of a state.
  private func bytes(_ group: NMEA2000Message.Group, of state: FusedState) -> [UInt8]? {
    var report = NMEA2000Report()
    return report.messages(of: state).first { $0.group == group }?.bytes
  }

  /// The same without the number of the state, which is the first byte of most groups.
  private func rest(_ group: NMEA2000Message.Group, of state: FusedState) -> [UInt8]? {
    bytes(group, of: state).map { Array($0.dropFirst()) }
  }

  @Test func `a position matches that of a real device`() {
    let state = state { $0.position = position(46.000_843_3, -1.321_406_6) }
    #expect(bytes(.position, of: state) == [0xF1, 0x2B, 0x6B, 0x1B, 0x8E, 0x5E, 0x36, 0xFF])
  }

  @Test func `course and speed match those of a real device, and an unknown course is not available`() {
    var motion = FusedState.Motion(
      speedMetresPerSecond: 0.26, trackDegrees: 3.467 * 180 / .pi, climbMetresPerSecond: nil)
    #expect(
      rest(.courseAndSpeed, of: state { $0.motion = dated(motion) }) == [0xFC, 0x6E, 0x87, 0x1A, 0x00, 0xFF, 0xFF])
    motion.trackDegrees = nil
    #expect(
      rest(.courseAndSpeed, of: state { $0.motion = dated(motion) }) == [0xFC, 0xFF, 0xFF, 0x1A, 0x00, 0xFF, 0xFF])
    // In steps of 0.0001 rad this course would be a full turn.
    motion.trackDegrees = 359.9999
    #expect(rest(.courseAndSpeed, of: state { $0.motion = dated(motion) })?[1...2] == [0, 0])
  }

  @Test func `heading, rate of turn and attitude match those of a real device`() {
    let attitude = FusedState.Attitude(
      quaternion: Quaternion(roll: 0.1279, pitch: -0.2054, yaw: 2.3154), inclinationSigmaRadians: 0.01,
      headingSigmaRadians: 0.1, north: .magnetic)
    let state = state {
      $0.attitude = dated(attitude)
      // A rotation about the vertical of a level board would have only the last component.
      $0.rates = dated(attitude.quaternion.conjugate.rotate(SIMD3(0, 0, 0.001_806_625)))
    }
    #expect(rest(.heading, of: state) == [0x72, 0x5A, 0xFF, 0x7F, 0xFF, 0x7F, 0xFD])
    #expect(rest(.rateOfTurn, of: state) == [0xD4, 0xE1, 0x00, 0x00, 0xFF, 0xFF, 0xFF])
    #expect(rest(.attitude, of: state) == [0x72, 0x5A, 0xFA, 0xF7, 0xFF, 0x04, 0xFF])
  }

  @Test func `a heading from true north has the variation, and an unknown heading is not sent`() {
    var attitude = FusedState.Attitude(
      quaternion: Quaternion(roll: 0, pitch: 0, yaw: -0.5), inclinationSigmaRadians: 0.01, headingSigmaRadians: 0.1,
      north: .geographic(declinationRadians: 0.0524))
    // -0.5 rad is 5.7832 rad on the circle.
    #expect(
      rest(.heading, of: state { $0.attitude = dated(attitude) }) == [0xE8, 0xE1, 0xFF, 0x7F, 0x0C, 0x02, 0xFC])
    attitude.headingSigmaRadians = nil
    let unknown = state { $0.attitude = dated(attitude) }
    #expect(bytes(.heading, of: unknown) == nil)
    #expect(rest(.attitude, of: unknown) == [0xFF, 0x7F, 0x00, 0x00, 0x00, 0x00, 0xFF])
  }

  @Test func `the position of a receiver matches that of a real device in all fields that the hub has`() {
    let state = state {
      $0.position = position(52.746_133_3, 5.181_556_6, hae: 3.4)
      $0.fix = fix((15_089, 23_112, 0))
    }
    // The real device knows the position's dilution (1.4), and says that its system is GPS with SBAS.
    let real: [UInt8] = [
      0xF1, 0x3A, 0x80, 0x9C, 0xC6, 0x0D, 0x00, 0x12, 0x38, 0xAA, 0x49, 0xEB, 0x51, 0x07, 0x00, 0x0C, 0x44, 0x95, 0xFB,
      0x15, 0xB8, 0x00, 0x40, 0xE1, 0x33, 0x00, 0x00, 0x00, 0x00, 0x00, 0x13, 0xFC, 0x09, 0x5A, 0x00, 0x8C, 0x00, 0xFF,
      0xFF, 0xFF, 0x7F, 0x00,
    ]
    guard var own = rest(.gnssPosition, of: state) else {
      Issue.record("no position of a receiver")
      return
    }
    #expect(own.count == 42)
    #expect(own[30] == 0x10 && own[35...36] == [0xFF, 0x7F])
    (own[30], own[35], own[36]) = (0x13, 0x8C, 0x00)
    // A degree has 10^16 steps, which a `Double` of 52 degrees does not resolve.
    func degrees(_ bytes: [UInt8], _ start: Int) -> Double {
      Double(
        Int64(truncatingIfNeeded: bytes[start..<start + 8].reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }))
        * 1e-16
    }
    for start in [6, 14] {
      #expect(abs(degrees(own, start) - degrees(real, start)) < 1e-12)
      own.replaceSubrange(start..<start + 8, with: real[start..<start + 8])
    }
    #expect(own == real)
  }

  @Test func `without a position the receiver's message says so, and the method follows the fix`() {
    let none = state { $0.fix = fix((15_089, 23_112, 0), isConfirmed: false) }
    let bytes = rest(.gnssPosition, of: none) ?? []
    #expect(bytes.count == 42)
    // The receiver has not confirmed the date.
    #expect(bytes.prefix(6) == [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
    #expect(bytes[6..<14] == [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F])
    #expect(bytes[30] == 0x00)
    #expect(self.bytes(.position, of: none) == nil && self.bytes(.systemTime, of: none) == nil)
    for (status, method) in [(1, 1), (2, 2), (3, 4), (4, 5), (5, 6), (8, 8)] as [(Int, UInt8)] {
      let state = state {
        $0.position = position(1, 2, hae: 40, msl: -5.5)
        $0.fix = fix((15_089, 23_112, 0))
        $0.fix?.value.status = status
      }
      let bytes = rest(.gnssPosition, of: state) ?? []
      #expect(bytes[30] == method << 4, "status \(status)")
      #expect(bytes[37...40] == [0xC6, 0x11, 0, 0], "a separation of 45.5 m")
    }
  }

  @Test func `the system's time matches that of a real device`() {
    let state = state { $0.fix = fix((15_089, 37_010, 100_000)) }
    #expect(rest(.systemTime, of: state) == [0xF0, 0xF1, 0x3A, 0x21, 0x47, 0x0F, 0x16])
  }

  @Test func `the environment has temperature, humidity and pressure, and the pressure follows precisely`() {
    let air = FusedState.Air(pressurePascals: 101_838, temperatureCelsius: 18.5, humidityPercent: 47.5)
    let state = state { $0.air = dated(air) }
    // 291.65 K, 11875 steps of 0.004 %, 1018 hPa; the sources are inside.
    #expect(rest(.environment, of: state) == [0x02, 0xED, 0x71, 0x63, 0x2E, 0xFA, 0x03])
    // This is the message of a real device.
    #expect(rest(.pressure, of: state) == [0x00, 0x00, 0x0C, 0x8A, 0x0F, 0x00, 0xFF])
  }

  @Test func `a message is sent again after its interval, and a part only after a new measurement`() {
    var report = NMEA2000Report()
    var state = state { $0.position = position(1, 2) }
    #expect(report.messages(of: state).map(\.group) == [.position, .gnssPosition])
    state.at = Self.now + .milliseconds(200)
    #expect(report.messages(of: state).isEmpty)
    state.position?.at = state.at
    #expect(report.messages(of: state).map(\.group) == [.position])
    state.at = Self.now + .milliseconds(250)
    state.position?.at = state.at
    #expect(report.messages(of: state).isEmpty)
    state.mode = .asleep
    state.at = Self.now + .seconds(5)
    #expect(report.messages(of: state).isEmpty)
  }

  @Test func `a field that cannot hold a value says so`() {
    var fields = NMEA2000Fields()
    for value in [nil, .nan, 655.32, 655.33, -0.01] as [Double?] { fields.add(value, per: 0.01, bytes: 2) }
    #expect(fields.bytes == [0xFF, 0xFF, 0xFF, 0xFF, 0xFC, 0xFF, 0xFE, 0xFF, 0xFE, 0xFF])
    fields = NMEA2000Fields()
    for value in [nil, 327.64, 327.65, -327.67, -400] as [Double?] {
      fields.add(value, per: 0.01, bytes: 2, isSigned: true)
    }
    #expect(fields.bytes == [0xFF, 0x7F, 0xFC, 0x7F, 0xFE, 0x7F, 0x01, 0x80, 0xFE, 0x7F])
    fields = NMEA2000Fields()
    fields.add(1e13, per: 1e-6, bytes: 8, isSigned: true)
    #expect(fields.bytes == [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F])
  }

  @Test func `long content is sent as a fast packet, and its identifier has priority, number and source`() {
    var fields = NMEA2000Fields()
    for value in 0..<15 { fields.add(UInt64(value), bytes: 1) }
    let long = NMEA2000Message(.gnssPosition, fields).frames(from: 0x2B, sequence: 9)
    #expect(long.allSatisfy { $0.identifier == 0x0DF8_052B })
    #expect(
      long.map(\.bytes) == [
        [0x20, 15, 0, 1, 2, 3, 4, 5], [0x21, 6, 7, 8, 9, 10, 11, 12], [0x22, 13, 14, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
      ])
    let short = NMEA2000Message(.position, NMEA2000Fields()).frames(from: 0x2B, sequence: 0)
    // This is the identifier of a real device's position.
    #expect(short.map(\.identifier) == [0x09F8_012B])
    let addressed = NMEA2000Message(.acknowledgement, NMEA2000Fields(), to: 7).frames(from: 60, sequence: 0)
    #expect(addressed.map(\.identifier) == [0x18E8_073C])
  }

  @Test func `the product information names program and version`() {
    let product = NMEA2000Node.product(version: "1.2.3", NMEA2000Name(unique: 77))
    #expect(product.bytes.count == 134)
    #expect(product.bytes.prefix(4) == [0x34, 0x08, 0xFF, 0xFF])
    #expect(Array(product.bytes[4..<14]) == Array("SensorHub".utf8) + [0xFF])
    #expect(Array(product.bytes[36..<42]) == Array("1.2.3".utf8) + [0xFF])
    #expect(product.frames(from: 1, sequence: 0).count == 20)
  }
}
