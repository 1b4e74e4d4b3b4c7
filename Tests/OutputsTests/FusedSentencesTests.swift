import Fusion
import MonotonicTime
import NMEA
import Testing

@testable import Outputs

/// What a plotter makes of the hub's own sentences, read back through the decoder that real receivers' logs prove.
struct FusedSentencesTests {
  private let now = MonotonicInstant(nanoseconds: 100_000_000_000)

  private var fused: FusedState {
    var state = FusedState(at: now)
    state.mode = .fused
    state.position = Dated(
      FusedState.Position(
        latitudeDegrees: -33.856_8, longitudeDegrees: 151.215_3, altitudeHAEMetres: 60, altitudeMSLMetres: 38,
        horizontalSigmaMetres: 1, verticalSigmaMetres: 2), at: now, source: .both)
    state.motion = Dated(
      FusedState.Motion(speedMetresPerSecond: 10, trackDegrees: 271.5, climbMetresPerSecond: 0), at: now,
      source: .both)
    state.fix = Dated(
      FusedState.FixQuality(
        mode: 3, status: 2, satellitesUsed: 9, hdop: 0.8, utcNanoseconds: 1_700_000_000_250_000_000), at: now,
      source: .gps)
    state.attitude = Dated(
      FusedState.Attitude(
        quaternion: Quaternion(roll: 0.1, pitch: -0.05, yaw: -1.5), inclinationSigmaRadians: 0.01,
        headingSigmaRadians: 0.02), at: now, source: .both)
    state.rates = Dated(SIMD3(0, 0, 0.1), at: now, source: .imu)
    return state
  }

  private func read(_ state: FusedState) -> (fix: GNSSFix?, attitude: NMEAAttitude, bad: Int) {
    var framer = SentenceFramer()
    var assembler = EpochAssembler(promptness: .certain)
    var fix: GNSSFix?
    Array(FusedSentences.make(of: state).utf8).withUnsafeBufferPointer { bytes in
      framer.push(bytes) { raw in _ = assembler.consume(raw) { fix = $0.fix } }
    }
    assembler.finish { fix = $0.fix }
    return (fix, assembler.attitude, framer.counters.badChecksum)
  }

  @Test func `position, motion, time and quality come back as they were`() throws {
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

  @Test func `heading, roll, pitch and rate of turn come back as they were`() {
    let attitude = read(fused).attitude
    #expect(abs((attitude.headingDegrees ?? 0) - 274.1) < 0.05)
    #expect(abs((attitude.pitchDegrees ?? 0) - -2.9) < 0.05)
    #expect(abs((attitude.rollDegrees ?? 0) - 5.7) < 0.05)
    #expect((attitude.rateOfTurnDegreesPerMinute ?? 0) > 300)
  }

  @Test func `dead reckoning says that it is an estimate`() {
    var state = fused
    state.mode = .deadReckoning
    state.fix?.value.mode = 1
    let text = FusedSentences.make(of: state)
    #expect(text.contains(",A,3351.408") && text.contains(",E*"))
    #expect(text.contains("$GPGGA,221320.25,3351.4080000,S,15112.9180000,E,6,"))
    state.fix = nil
    #expect(FusedSentences.make(of: state).contains("$GPGGA,,3351.4080000,S,15112.9180000,E,6,"))
  }

  @Test func `an epoch without a fix does not blank a position that is known`() {
    var state = fused
    state.fix?.value.mode = 1
    state.fix?.value.status = 0
    let text = FusedSentences.make(of: state)
    #expect(text.contains(",A,3351.408") && text.contains(",E*") && !text.contains(",V,"), "\(text)")
  }

  @Test func `the time is that of the position, not that of the fix before it`() {
    var state = fused
    // As it is where the sentences of the fix took a third of a second to arrive.
    state.fix?.at = now.advanced(by: .milliseconds(-330))
    let text = FusedSentences.make(of: state)
    #expect(text.hasPrefix("$GPRMC,221320.58,A,") && text.contains("$GPGGA,221320.58,"), "\(text)")
  }

  @Test func `without a position the first sentence says so`() {
    #expect(FusedSentences.make(of: FusedState(at: now)) == "$GPRMC,,V,,,,,,,,,,N*53\r\n")
  }
}
