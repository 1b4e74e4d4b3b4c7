import Devices
import Fusion
import Hub
import MonotonicTime
import NMEA
import Simulation
import Testing

@testable import Outputs

/// A plotter's view of the hub's sentences, read with the decoder that was tested on logs of real receivers.
struct FusedSentencesTests {
  private let now = MonotonicInstant(nanoseconds: 100_000_000_000)

  private var fused: FusedState {
    var state = FusedState(at: now)
    state.mode = .fused
    state.position = Dated(
      FusedState.Position(
        latitudeDegrees: -33.856_8, longitudeDegrees: 151.215_3, altitudeHAEMetres: 60, altitudeMSLMetres: 38,
        horizontalSigmaMetres: 1, verticalSigmaMetres: 2), at: now, source: [.gps, .imu])
    state.motion = Dated(
      FusedState.Motion(speedMetresPerSecond: 10, trackDegrees: 271.5, climbMetresPerSecond: 0), at: now,
      source: [.gps, .imu])
    state.fix = Dated(
      FusedState.FixQuality(
        mode: 3, status: 2, satellitesUsed: 9, hdop: 0.8, utcNanoseconds: 1_700_000_000_250_000_000), at: now,
      source: .gps)
    state.attitude = Dated(
      FusedState.Attitude(
        quaternion: Quaternion(roll: 0.1, pitch: -0.05, yaw: -1.5), inclinationSigmaRadians: 0.01,
        headingSigmaRadians: 0.02), at: now, source: [.gps, .imu])
    state.rates = Dated(SIMD3(0, 0, 0.1), at: now, source: .imu)
    return state
  }

  /// A receiver's satellite list, made from its own sentences, because the decoder creates satellites only from these.
  private func epoch(_ sentences: [String]) -> GNSSObservation {
    let position = "GNRMC,120000.00,A,3351.0,S,15112.0,E,1.0,2.0,211126,,,A"
    let (fix, sky, _, _, _) = decode(([position] + sentences).map { SentenceWriter.make($0) }.joined())
    return GNSSObservation(at: now, fix: fix ?? GNSSFix(), sky: sky)
  }

  private typealias Received = (
    fix: GNSSFix?, sky: [Satellite], errors: GNSSErrorStatistics?, attitude: NMEAAttitude, bad: Int
  )

  private func decode(_ text: String) -> Received {
    var framer = SentenceFramer()
    var assembler = EpochAssembler(promptness: .certain)
    var received: Received = (nil, [], nil, NMEAAttitude(), 0)
    func take(_ epoch: borrowing GNSSEpoch) {
      received.fix = epoch.fix
      received.errors = epoch.errorStatistics ?? received.errors
      if !epoch.sky.isEmpty { received.sky = epoch.sky.satellites }
    }
    Array(text.utf8).withUnsafeBufferPointer { bytes in
      framer.push(bytes) { raw in _ = assembler.consume(raw) { take($0) } }
    }
    assembler.finish { take($0) }
    received.attitude = assembler.attitude
    received.bad = framer.counters.badChecksum
    return received
  }

  private func read(_ state: FusedState) -> (fix: GNSSFix?, attitude: NMEAAttitude, bad: Int) {
    let received = decode(FusedSentences.make(of: state))
    return (received.fix, received.attitude, received.bad)
  }

  /// Five systems as listed by a dual-frequency receiver, with one satellite in an unknown direction.
  private var manySystems: GNSSObservation {
    epoch([
      "GNGSA,A,3,02,05,12,13,40,,,,,,,,1.6,0.9,1.3,1", "GNGSA,A,3,66,67,,,,,,,,,,,1.6,0.9,1.3,2",
      "GNGSA,A,3,01,04,,,,,,,,,,,1.6,0.9,1.3,3", "GNGSA,A,3,19,,,,,,,,,,,,1.6,0.9,1.3,4",
      "GNGSA,A,3,03,,,,,,,,,,,,1.6,0.9,1.3,5", "GPGSV,2,1,06,02,62,105,45,05,31,051,41,12,48,301,43,13,22,182,37,1",
      "GPGSV,2,2,06,40,71,230,47,32,,,,1", "GPGSV,1,1,02,02,62,105,38,05,31,051,,8",
      "GLGSV,1,1,02,66,10,020,30,67,-3,359,31,1", "GAGSV,1,1,02,01,40,100,40,04,41,101,41,7",
      "GBGSV,1,1,01,19,50,200,42,1", "GQGSV,1,1,01,03,80,010,44,1",
    ])
  }

  @Test func `the pauses of a slow receiver do not count as silence`() throws {
    let board = try Board(json5: Array("{ name: 'x', nmea: {} }".utf8), file: "board")
    let hub = Hub(board: board, hardware: SimulatedHardware())
    let output = NMEAOutput(host: HubHost(hub, version: "test"), feed: board.nmea[0].feed)
    let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    #expect(output.silence(since: nil) == .seconds(5))
    #expect(output.silence(since: start) == .seconds(5))
    for _ in 0..<3 { #expect(output.silence(since: start + .seconds(10)) == .seconds(15)) }
    #expect(output.silence(since: start + .seconds(11)) == .seconds(5))
    // The receiver has slept since its last epoch.
    #expect(output.silence(since: start + .seconds(8 * 3600)) == .seconds(30))
  }

  @Test func `position, motion, time and quality are the same after encoding and decoding`() throws {
    let (received, _, bad) = read(fused)
    let fix = try #require(received)
    #expect(bad == 0)
    #expect(fix.mode == .threeDimensional)
    #expect(fix.status == .differential)
    #expect(fix.time?.nanosecondsSince1970 == 1_700_000_000_250_000_000)
    #expect(abs((fix.position?.latitudeDegrees ?? 0) - -33.856_8) < 1e-7)
    #expect(abs((fix.position?.longitudeDegrees ?? 0) - 151.215_3) < 1e-7)
    #expect(fix.altitudeMSLMetres == 38)
    #expect(fix.geoidSeparationMetres == 22)
    #expect(abs((fix.speedMetresPerSecond ?? 0) - 10) < 0.01)
    #expect(fix.trackDegrees == 271.5)
    #expect(fix.satellitesUsed == 9)
    #expect(fix.hdop == 0.8)
  }

  /// A receiver's checksum may be correct although its numbers are absurd.
  @Test func `a number that does not fit its field leaves the field empty`() throws {
    var state = fused
    state.position?.value.altitudeMSLMetres = 1e18
    state.position?.value.horizontalSigmaMetres = .infinity
    state.motion?.value.speedMetresPerSecond = 1e18
    state.motion?.value.trackDegrees = .nan
    state.fix?.value.hdop = 1e300
    let (received, _, bad) = read(state)
    let fix = try #require(received)
    #expect(bad == 0)
    #expect(fix.altitudeMSLMetres == nil && fix.hdop == nil && fix.speedMetresPerSecond == nil)
    #expect(abs((fix.position?.latitudeDegrees ?? 0) - -33.856_8) < 1e-7)
  }

  @Test func `heading, roll, pitch and rate of turn are the same after encoding and decoding`() {
    let attitude = read(fused).attitude
    #expect(abs((attitude.headingDegrees ?? 0) - 274.1) < 0.05)
    #expect(abs((attitude.pitchDegrees ?? 0) - -2.9) < 0.05)
    #expect(abs((attitude.rollDegrees ?? 0) - 5.7) < 0.05)
    #expect((attitude.rateOfTurnDegreesPerMinute ?? 0) > 300)
  }

  @Test(
    arguments: [
      (1, "A", "1"), (2, "D", "2"), (3, "R", "4"), (4, "F", "5"), (5, "E", "6"), (7, "M", "7"), (8, "S", "8"),
      (9, "P", "3"),
    ])
  func `the kind of the receiver's fix is kept`(_ status: Int, _ letter: String, _ quality: String) {
    var state = fused
    state.mode = .gnss
    state.fix?.value.status = status
    let text = FusedSentences.make(of: state)
    let lines = text.split(separator: "\r\n")
    for name in ["RMC", "VTG"] {
      #expect(lines.contains { $0.dropFirst(3).hasPrefix(name) && $0.contains(",\(letter)*") }, "\(text)")
    }
    let gga = lines.first { $0.hasPrefix("$GPGGA,") }?.split(separator: ",", omittingEmptySubsequences: false)
    #expect(gga.map { String($0[6]) } == quality)
  }

  @Test func `dead reckoning is marked as an estimate`() {
    var state = fused
    state.mode = .deadReckoning
    state.fix?.value.mode = 1
    let text = FusedSentences.make(of: state)
    #expect(text.contains(",A,3351.408") && text.contains(",E*"))
    #expect(text.contains("$GPGGA,221320.25,3351.4080000,S,15112.9180000,E,6,"))
    state.fix = nil
    #expect(FusedSentences.make(of: state).contains("$GPGGA,,3351.4080000,S,15112.9180000,E,6,"))
  }

  @Test func `an epoch without a fix does not clear a known position`() {
    var state = fused
    state.fix?.value.mode = 1
    state.fix?.value.status = 0
    let text = FusedSentences.make(of: state)
    #expect(text.contains(",A,3351.408") && text.contains(",E*") && !text.contains(",V,"), "\(text)")
  }

  @Test func `the time is that of the position, not that of the fix before it`() {
    var state = fused
    // The sentences of the fix took a third of a second to arrive.
    state.fix?.at = now.advanced(by: .milliseconds(-330))
    let text = FusedSentences.make(of: state)
    #expect(text.contains("$GPRMC,221320.58,A,") && text.contains("$GPGGA,221320.58,"), "\(text)")
  }

  @Test func `satellites are the same after encoding and decoding, each listed once`() throws {
    let listed = manySystems
    #expect(listed.sky.count == 14)
    let text = FusedSentences.make(of: fused, listing: listed)
    let (received, sky, _, _, bad) = decode(text)
    let fix = try #require(received)
    #expect(bad == 0)
    #expect(fix.mode == .threeDimensional)
    #expect(fix.pdop == 1.6 && fix.hdop == 0.9 && fix.vdop == 1.3)
    func number(_ satellite: Satellite) -> UInt16 { satellite.number.extended }
    #expect(sky.map(number) == [2, 5, 12, 13, 40, 32, 66, 67, 301, 304, 419, 195])
    for satellite in sky {
      let same = try #require(listed.sky.first { $0.number == satellite.number })
      #expect(satellite.elevationDegrees == same.elevationDegrees && satellite.azimuthDegrees == same.azimuthDegrees)
      #expect(satellite.signalStrength == same.signalStrength && satellite.isUsed == same.isUsed)
    }
    #expect(sky.count { $0.isUsed } == 11)
    for sentence in [
      "$GNGSA,A,3,02,05,12,13,40,,,,,,,,1.6,0.9,1.3,1*", "$GNGSA,A,3,66,67,,,,,,,,,,,1.6,0.9,1.3,2*",
      "$GPGSV,2,1,06,02,62,105,45,05,31,051,41,12,48,301,43,13,22,182,37*", "$GPGSV,2,2,06,40,71,230,47,32,,,*",
      "$GLGSV,1,1,02,66,10,020,30,67,-3,359,31*",
    ] { #expect(text.contains(sentence), "\(text)") }
  }

  @Test func `satellites beyond one sentence take another, and those beyond a list are left out`() {
    let many = (1...40).map { number in
      let entry = "\(number < 10 ? "0" : "")\(number),10,\(100 + number),40"
      return "GBGSV,1,1,01,\(entry)"
    }
    let used = stride(from: 1, through: 30, by: 10).map { first in
      let numbers = (first..<first + 10).map { "\($0)" }.joined(separator: ",")
      return "GNGSA,A,3,\(numbers),,,1.6,0.9,1.3,4"
    }
    let text = FusedSentences.make(of: fused, listing: epoch(used + many))
    let sentences = text.split(separator: "\r\n")
    #expect(sentences.count { $0.hasPrefix("$GNGSA,A,3,") && $0.contains(",1.6,0.9,1.3,4*") } == 3)
    #expect(sentences.count { $0.hasPrefix("$GBGSV,9,") && $0.split(separator: ",")[3] == "36" } == 9)
    #expect(decode(text).sky.count == 36)
  }

  @Test func `satellites in view are listed even if none is used`() {
    var state = FusedState(at: now)
    state.fix = Dated(
      FusedState.FixQuality(mode: 1, status: 0, satellitesUsed: 0, hdop: nil, utcNanoseconds: nil), at: now,
      source: .gps)
    let text = FusedSentences.make(of: state, listing: epoch(["GLGSV,1,1,01,66,10,020,30"]))
    #expect(text.contains("\r\n$GNGSA,A,1,,,,,,,,,,,,,,,,2*"), "\(text)")
    #expect(text.contains("\r\n$GLGSV,1,1,01,66,10,020,30*"), "\(text)")
  }

  @Test func `errors are one sigma along each axis, and a circle as long as north and east are equal`() throws {
    let errors = try #require(decode(FusedSentences.make(of: fused)).errors)
    #expect(errors.time?.nanosecondsSince1970 == 1_700_000_000_250_000_000)
    let statistics = errors.statistics
    #expect(statistics.rangeRMSMetres == nil)
    #expect(statistics.semiMajorMetres == 1 && statistics.semiMinorMetres == 1)
    #expect(statistics.latitudeSigmaMetres == 1 && statistics.longitudeSigmaMetres == 1)
    #expect(statistics.altitudeSigmaMetres == 2)
    var state = fused
    state.position?.value.horizontalSigmaMetres = nil
    #expect(!FusedSentences.make(of: state).contains("GST"))
  }

  @Test func `PASHR has heading, roll and pitch with their sigmas, and no unknown heading`() {
    func sentence(_ state: FusedState) -> Substring? {
      FusedSentences.make(of: state).split(separator: "\r\n").first { $0.hasPrefix("$PASHR,") }.map { $0.dropLast(3) }
    }
    #expect(sentence(fused) == "$PASHR,221320.25,274.06,T,5.73,-2.86,,0.573,0.573,1.146,1,1")
    var state = fused
    state.attitude?.value.headingSigmaRadians = nil
    #expect(sentence(state) == "$PASHR,221320.25,,T,5.73,-2.86,,0.573,0.573,,1,0")
    // The time distinguishes this sentence from others by Ashtech.
    state.fix = nil
    #expect(sentence(state) == nil)
    state = fused
    state.attitude = nil
    #expect(sentence(state) == nil)
  }

  @Test func `a direction that rounds to 360 is written as 0`() {
    var state = fused
    state.motion?.value.trackDegrees = 359.96
    state.attitude?.value.quaternion = Quaternion(roll: 0, pitch: 0, yaw: -0.000_05)
    let text = FusedSentences.make(of: state)
    #expect(text.contains("$GPVTG,0.0,T,") && text.contains("$HEHDT,0.0,T") && text.contains(",0.00,T,"), "\(text)")
  }

  @Test func `no sentence is longer than 82 characters, however large its numbers`() {
    var state = fused
    state.mode = .deadReckoning
    state.position?.value.longitudeDegrees = -179.999_999_999
    state.position?.value.altitudeMSLMetres = -12_345.67
    state.position?.value.altitudeHAEMetres = -12_450
    state.position?.value.horizontalSigmaMetres = 1e9
    state.position?.value.verticalSigmaMetres = 1e9
    state.motion?.value.speedMetresPerSecond = 340
    state.fix?.value.hdop = 99.4
    state.fix?.value.satellitesUsed = 99
    state.attitude?.value.quaternion = Quaternion(roll: -3.14, pitch: -1.5, yaw: 3.14)
    state.attitude?.value.inclinationSigmaRadians = 3.14
    state.attitude?.value.headingSigmaRadians = 1e9
    for sentence in FusedSentences.make(of: state, listing: manySystems).split(separator: "\r\n") {
      #expect(sentence.utf8.count + 2 <= 82, "\(sentence)")
    }
  }

  @Test func `without a position the first sentence says so`() {
    #expect(FusedSentences.make(of: FusedState(at: now)) == "$GPRMC,,V,,,,,,,,,,N*53\r\n")
  }

  @Test func `the compass and the air have their own sentences`() {
    var state = fused
    state.air = Dated(
      FusedState.Air(pressurePascals: 101_325, temperatureCelsius: -3.24, humidityPercent: 45.04), at: now,
      source: .baro)
    let lines = FusedSentences.make(of: state).split(separator: "\r\n").map { $0.dropLast(3) }
    // In Sydney a needle points 12.6 degrees east of north, so a true heading of 274.1 is a magnetic one of 261.4.
    #expect(lines.contains("$HEHDT,274.1,T"))
    #expect(lines.contains("$HCHDG,261.3,,,12.8,E"), "\(lines)")
    #expect(lines.contains { $0.hasPrefix("$GPVTG,271.5,T,258.") })
    #expect(lines.contains { $0.hasPrefix("$GPRMC,") && $0.hasSuffix(",E,D") })
    #expect(lines.contains("$WIXDR,P,1.01325,B,Barometer,C,-3.2,C,TempAir,H,45.0,P,Humidity"), "\(lines)")
    // The magnetometer's own heading needs no position.
    var early = state
    early.position = nil
    early.attitude?.value.north = .magnetic
    #expect(FusedSentences.make(of: early).contains("$HCHDG,274.1,,,,*"))
    // The position is outdated, but the declination is still known.
    early.attitude?.value.north = .geographic(declinationRadians: 10 * .pi / 180)
    #expect(FusedSentences.make(of: early).contains("$HCHDG,264.1,,,10.0,E*"))
    early.attitude?.value.north = .geographic(declinationRadians: nil)
    #expect(!FusedSentences.make(of: early).contains("HDG"))
    // If the direction of north is unknown, no heading is stated.
    state.attitude?.value.headingSigmaRadians = nil
    state.air = nil
    let less = FusedSentences.make(of: state)
    #expect(!less.contains("HDG") && !less.contains("HDT") && !less.contains("Barometer"))
  }
}
