import Devices
import FoundationEssentials
import Fusion
import Glibc
import MonotonicTime
import NMEA
import Testing

@testable import Hub
@testable import Outputs

/// The gpsd protocol's objects for a fused state.
struct GPSDFusedReportTests {
  private let now = MonotonicInstant(nanoseconds: 100_000_000_000)
  private let fixUTC: Int64 = 1_795_219_200_000_000_000

  struct TPV: Decodable {
    var mode: Int
    var status: Int?
    var time: String?
    var lat, lon, epx, epy, epv, eph, sep, speed, track, magtrack, magvar, geoidSep, dgpsAge: Double?
    var ecefx, ecefy, ecefz, ecefvx, ecefvy, ecefvz, epd, eps, epc: Double?
    var dgpsSta: Int?
  }

  /// A fix that became valid 0.3 s ago, and an IMU whose newest sample is 10 ms old.
  private func state(_ mode: FusedState.Mode, fixMode: Int = 3) -> FusedState {
    let sample = now.advanced(by: .milliseconds(-10))
    var state = FusedState(at: now)
    state.mode = mode
    state.position = Dated(
      FusedState.Position(
        latitudeDegrees: 52.5, longitudeDegrees: 13.4, altitudeHAEMetres: 80, altitudeMSLMetres: 40,
        horizontalSigmaMetres: 2, verticalSigmaMetres: 3), at: sample, source: [.gps, .imu])
    state.motion = Dated(
      FusedState.Motion(speedMetresPerSecond: 30, trackDegrees: 90, climbMetresPerSecond: 0.5), at: sample,
      source: [.gps, .imu])
    state.attitude = Dated(
      FusedState.Attitude(
        quaternion: Quaternion(roll: 0.1, pitch: -0.05, yaw: -1.5), inclinationSigmaRadians: 0.01,
        headingSigmaRadians: 0.02), at: sample, source: [.gps, .imu])
    state.rates = Dated(SIMD3(0, 0, 0.1), at: sample, source: .imu)
    state.acceleration = Dated(SIMD3(3, 0, -4), at: sample, source: .imu)
    state.fix = Dated(
      FusedState.FixQuality(mode: fixMode, status: 1, satellitesUsed: 9, hdop: 0.8, utcNanoseconds: fixUTC),
      at: now.advanced(by: .milliseconds(-300)), source: .gps)
    return state
  }

  private func lines(_ write: (inout JSONWriter) -> Void) -> [String] {
    var json = JSONWriter()
    write(&json)
    return String(decoding: json.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  private func position(_ state: FusedState, _ reception: GNSSObservation? = nil) throws -> TPV {
    let line = try #require(
      lines { GPSDReport.writePositionObject(state, reception: reception, device: "tty", to: &$0) }.first)
    return try JSONDecoder().decode(TPV.self, from: Data(line.utf8))
  }

  @Test func `an epoch without a fix does not clear a known position`() throws {
    let tpv = try position(state(.fused, fixMode: 1))
    #expect(tpv.mode == 3)
    #expect(tpv.lat == 52.5)
    #expect(tpv.status == 5)
    let reckoned = try position(state(.deadReckoning, fixMode: 1))
    #expect(reckoned.mode == 3 && reckoned.status == 5)
    #expect(try position(state(.fused)).status == nil)
  }

  @Test func `the mode is the receiver's only if there is no position`() throws {
    var none = state(.attitude, fixMode: 1)
    none.position = nil
    none.motion = nil
    #expect(try position(none).mode == 1)
    #expect(try position(FusedState(at: now)).mode == 0)
  }

  @Test func `the time is that of the position, not that of the fix before it`() throws {
    #expect(try position(state(.fused)).time == "2026-11-21T00:00:00.290Z")
    let attitude = lines { GPSDReport.writeAttitude(state(.fused), device: "/dev/i2c-1", to: &$0) }
    #expect(attitude.count == 2)
    for line in attitude {
      #expect(line.contains(#""device":"/dev/i2c-1","time":"2026-11-21T00:00:00.290Z""#), "\(line)")
    }
    let report = lines { StateReport.write(state(.fused), to: &$0) }
    #expect(report.first?.contains(#""time":"2026-11-21T00:00:00.300Z""#) == true)
    let back = try #require(StateReport.read(Array(report[0].utf8)))
    #expect(back.fix?.value.utcNanoseconds.map { abs($0 - fixUTC) < 1_000_000 } == true)
  }

  @Test func `an attitude has its rate of turn and its vectors`() {
    let attitude = lines { GPSDReport.writeAttitude(state(.fused), device: "imu", to: &$0) }
    for member in [#""heading":274.056"#, #""acc_len":5.0000"#, #""acc_x":3.0000"#, #""gyro_z":5.7296"#, #""rot":34"#] {
      #expect(attitude[0].contains(member), "\(member) in \(attitude[0])")
    }
    #expect(!attitude[0].contains("mag_") && !attitude[0].contains("dip"))
  }

  @Test func `with a magnetometer, an attitude has the field and its dip`() {
    var fused = state(.fused)
    // The board is level and points north, so its axes are those of the earth.
    fused.attitude?.value.quaternion = .identity
    fused.magneticField = Dated(SIMD3(30, 0, 40), at: now, source: .mag)
    let attitude = lines { GPSDReport.writeAttitude(fused, device: "imu", to: &$0) }
    for member in [#""dip":53.130"#, #""mag_len":50.000"#, #""mag_x":30.000"#, #""mag_z":40.000"#, #""mheading":35"#] {
      #expect(attitude[0].contains(member), "\(member) in \(attitude[0])")
    }
    #expect(attitude[1].contains(#""mag_y":0.000"#))
  }

  @Test func `a magnetic heading needs no position, only the declination that a true heading contains`() {
    var fused = state(.attitude)
    fused.position = nil
    func members() -> String { lines { GPSDReport.writeAttitude(fused, device: "imu", to: &$0) }[0] }
    fused.attitude?.value.north = .magnetic
    #expect(members().contains(#""heading":274.056,"mheading":274.056"#), "\(members())")
    fused.attitude?.value.north = .geographic(declinationRadians: 10 * .pi / 180)
    #expect(members().contains(#""heading":274.056,"mheading":264.056"#), "\(members())")
    fused.attitude?.value.north = .geographic(declinationRadians: nil)
    #expect(!members().contains("mheading"))
  }

  @Test func `a direction that rounds to 360 is written as 0, and an old date has its own variation`() throws {
    var fused = state(.fused)
    fused.motion?.value.trackDegrees = 359.999_99
    fused.attitude?.value.quaternion = Quaternion(roll: 0, pitch: 0, yaw: -0.0004 * .pi / 180)
    fused.attitude?.value.headingSigmaRadians = 0.01
    let attitude = lines { GPSDReport.writeAttitude(fused, device: "imu", to: &$0) }
    #expect(attitude[0].contains(#""heading":0.000"#), "\(attitude[0])")
    let report = lines { StateReport.write(fused, to: &$0) }
    #expect(report[0].contains(#""yaw":0.000"#) && report[0].contains(#""track":0.00"#), "\(report[0])")
    let tpv = try position(fused, nil)
    #expect(tpv.track == 0)
    var later = fused
    later.fix?.value.utcNanoseconds = 1_890_000_000_000_000_000
    var sooner = fused
    sooner.fix?.value.utcNanoseconds = 1_740_000_000_000_000_000
    #expect(try position(later, nil).magvar != position(sooner, nil).magvar)
  }

  @Test func `values derived from a position, and values that only the receiver has, are reported too`() throws {
    var epoch = GNSSObservation(at: now, fix: GNSSFix(), sky: [])
    epoch.fix.differentialAgeSeconds = 4
    epoch.fix.differentialStation = 120
    epoch.fix.magneticVariationDegrees = 5
    let tpv = try position(state(.fused), epoch)
    #expect(tpv.dgpsAge == 4 && tpv.dgpsSta == 120)
    #expect(tpv.geoidSep == 40)
    // With magnetic north five degrees east of true north, the east lies at 85.
    #expect(tpv.magvar == 5 && tpv.magtrack == 85)
    // The expected values were calculated independently with the closed formula of the ellipsoid.
    #expect(abs(try #require(tpv.ecefx) - 3_785_088.90) < 0.01)
    #expect(abs(try #require(tpv.ecefy) - 901_735.37) < 0.01)
    #expect(abs(try #require(tpv.ecefz) - 5_036_928.05) < 0.01)
    let velocity = SIMD3(try #require(tpv.ecefvx), try #require(tpv.ecefvy), try #require(tpv.ecefvz))
    #expect(abs((velocity * velocity).sum().squareRoot() - (900.25).squareRoot()) < 0.02)
  }

  @Test func `velocity errors are those of the fused velocity, or the receiver's if there is none`()
    throws
  {
    var epoch = GNSSObservation(at: now, fix: GNSSFix(), sky: [])
    epoch.fix.speedErrorMetresPerSecond = 0.7
    epoch.fix.trackErrorDegrees = 9
    var fused = state(.fused)
    #expect(try position(fused, epoch).eps == 0.7)
    #expect(try position(fused, epoch).epd == 9)
    #expect(try position(fused, epoch).epc == nil)
    fused.motion?.value.horizontalSigmaMetresPerSecond = 0.5
    fused.motion?.value.verticalSigmaMetresPerSecond = 0.25
    let told = try position(fused, epoch)
    #expect(told.eps == 0.98 && told.epc == 0.49)
    // The error is 0.98 m/s to the side at 30 m/s.
    #expect(abs(try #require(told.epd) - 1.871) < 0.001)
  }

  /// In many random draws the share of true errors inside each estimate is 95 %, within statistical limits.
  @Test(arguments: 1...5) func `95 of 100 true errors are inside epx, epy, epv, eph and sep`(_ seed: UInt64) throws {
    let tpv = try position(state(.fused))
    let (epx, epy) = (try #require(tpv.epx), try #require(tpv.epy))
    let (epv, eph, sep) = (try #require(tpv.epv), try #require(tpv.eph), try #require(tpv.sep))
    var random = SeededNormal(seed: seed)
    let draws = 20_000
    var inside = [String: Int]()
    for _ in 0..<draws {
      // The state's sigma is that of each horizontal axis.
      let (north, east, down) = (2 * random.next(), 2 * random.next(), 3 * random.next())
      let plane = (north * north + east * east).squareRoot()
      for (name, isInside) in [
        ("epx", abs(east) <= epx), ("epy", abs(north) <= epy), ("epv", abs(down) <= epv), ("eph", plane <= eph),
        ("sep", (plane * plane + down * down).squareRoot() <= sep),
      ] where isInside {
        inside[name, default: 0] += 1
      }
    }
    // The limit is four standard deviations of a count of draws that each succeed with 95 %, and half a percent for
    // sep's formula.
    let chance = 4 * (0.95 * 0.05 / Double(draws)).squareRoot()
    for name in ["epx", "epy", "epv", "eph", "sep"] {
      let share = Double(inside[name] ?? 0) / Double(draws)
      #expect(abs(share - 0.95) < chance + (name == "sep" ? 0.005 : 0), "\(name): \(share)")
    }
  }

  @Test func `a sky has all dilutions, and unknown ones are not zero`() throws {
    let sky = try sky(
      "GPGSV,2,1,06,02,90,000,45,05,15,000,41,12,15,120,43,13,15,240,37",
      "GPGSV,2,2,06,18,,,,24,38,263,", used: "02,05,12,13")
    let line = try #require(lines { GPSDReport.writeSkyObject(sky, device: "tty", to: &$0) }.first)
    // One satellite is overhead and three are around the horizon. The values were calculated by hand.
    for member in [
      #""gdop":2.14"#, #""hdop":1.20"#, #""pdop":1.96"#, #""tdop":0.85"#, #""xdop":0.85"#, #""ydop":0.85"#,
      #""vdop":1.56"#,
    ] {
      #expect(line.contains(member), "\(member) in \(line)")
    }
    #expect(line.contains(#"{"PRN":18,"gnssid":0,"svid":18,"used":false}"#), "\(line)")
    #expect(line.contains(#"{"PRN":24,"gnssid":0,"svid":24,"az":263.0,"el":38.0,"used":false}"#), "\(line)")
    #expect(line.contains(#"{"PRN":2,"gnssid":0,"svid":2,"az":0.0,"el":90.0,"ss":45.0,"used":true}"#), "\(line)")
  }

  private func sky(_ bodies: String..., used: String) throws -> GNSSObservation {
    let position = "GPGGA,000000.00,5230.0,N,01324.0,E,1,04,,40.0,M,40.0,M,,"
    let sentences = [position, "GPGSA,A,3,\(used),,,,,,,,,,,"] + bodies
    var framer = SentenceFramer()
    var assembler = EpochAssembler(promptness: .certain)
    var observation: GNSSObservation?
    Array(sentences.map { SentenceWriter.make($0) }.joined().utf8).withUnsafeBufferPointer { bytes in
      framer.push(bytes) { raw in
        _ = assembler.consume(raw) { observation = GNSSObservation(at: now, fix: $0.fix, sky: $0.sky.satellites) }
      }
    }
    assembler.finish { observation = GNSSObservation(at: now, fix: $0.fix, sky: $0.sky.satellites) }
    return try #require(observation)
  }

  @Test func `the times of a class increase, unless the receiver's clock is set back`() {
    var times = MonotonicUTCFilter()
    func take(_ milliseconds: Int64) -> Bool {
      times.take(UTCTime(nanosecondsSince1970: fixUTC + milliseconds * 1_000_000))
    }
    #expect([0, 200, 200, 190, 201].map(take) == [true, true, false, false, true])
    #expect(take(-3_600_000))
    #expect(take(-3_599_800))
  }

  @Test func `a clock offset is reported with its precision`() {
    func text(_ source: ClockOffset.Source) -> String {
      lines {
        GPSDReport.write(
          ClockOffset(source: source, receiverNanosecondsSince1970: fixUTC, systemNanosecondsSince1970: fixUTC),
          device: "tty", to: &$0)
      }.joined()
    }
    #expect(text(.pulse).hasSuffix(#""precision":-20}"#))
    #expect(text(.epoch).hasSuffix(#""precision":-1}"#))
  }
}

/// The same seed draws the same errors.
private struct SeededNormal {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// A uniform number above 0 and at most 1 (SplitMix64).
  private mutating func uniform() -> Double {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return (Double((z ^ (z >> 31)) >> 11) + 1) / 9_007_199_254_740_992
  }

  /// A normal number with standard deviation 1 (Box and Muller).
  mutating func next() -> Double { (-2 * log(uniform())).squareRoot() * cos(2 * .pi * uniform()) }
}
