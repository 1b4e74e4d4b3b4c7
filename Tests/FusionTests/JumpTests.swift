import Glibc
import Testing

@testable import Fusion

/// A receiver whose position jumps, while the inertial sensors measure no motion.
struct JumpTests {
  private struct Drive {
    /// The error right after each fix; the index is the second.
    var errors: [Double] = [.infinity]
    var refusals: [Double?] = [nil]
    var modes: [FusedState.Mode] = [.none]
    var repetitions = [false]
    var disagreements: [Double?] = [nil]
    var checks: [(time: Double, ratio: Double)?] = [nil]
  }

  /// Drives with a fix each second, modified by `change`. If it returns `nil`, the fix is skipped.
  private func drive(
    _ scenario: SimulatedJourney.Scenario = .highway, seed: UInt64, seconds: Int,
    change: (GNSSMeasurement, Int) -> GNSSMeasurement?
  ) -> Drive {
    var journey = SimulatedJourney(scenario, seed: seed, noise: ConsistencyTests.configuration.noise)
    var filter = NavigationFilter(ConsistencyTests.configuration)
    filter.begin(journey.disturbedStart())
    var drive = Drive()
    for second in 1...seconds {
      for _ in 0..<50 {
        journey.step()
        filter.update(
          gyroscope: journey.gyroscope, accelerometer: journey.accelerometer, time: journey.truth.time)
      }
      if let fix = change(journey.fix(), second) { filter.update(fix) }
      drive.errors.append(filter.position.map { journey.truth.position.offset(from: $0).length } ?? .infinity)
      drive.refusals.append(filter.contradiction?.metres)
      drive.modes.append(filter.mode)
      drive.repetitions.append(filter.isRepetition)
      drive.disagreements.append(filter.disagreement)
      drive.checks.append(filter.reckoningCheck)
    }
    return drive
  }

  private func displaced(_ fix: GNSSMeasurement) -> GNSSMeasurement {
    var fix = fix
    fix.position = fix.position.moved(by: SIMD3(400, 300, 0))
    return fix
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `a jump is refused and reported, and the state follows the inertial sensors`(seed: UInt64) {
    let inertial = drive(seed: seed, seconds: 120) { fix, second in (60..<100).contains(second) ? nil : fix }
    let spoofed = drive(seed: seed, seconds: 120) { fix, second in
      (60..<100).contains(second) ? displaced(fix) : fix
    }
    let reported = drive(seed: seed, seconds: 120) { fix, second in
      guard (60..<100).contains(second) else { return fix }
      var fix = displaced(fix)
      fix.trust = .doubted
      fix.positionSigma = SIMD3(repeating: 100)
      fix.velocitySigma = SIMD3(repeating: 5)
      return fix
    }
    for drive in [spoofed, reported] {
      for second in 60..<100 {
        #expect(drive.errors[second] < 2 * inertial.errors[second] + 10, "second \(second)")
        #expect(drive.refusals[second] != nil, "second \(second)")
      }
      #expect(drive.modes[99] == .deadReckoning)
      // The first correct fix is accepted again.
      #expect(drive.refusals[100] == nil && drive.modes[100] == .fused)
      #expect(drive.errors[110] < 10 && drive.errors[120] < 10)
    }
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `the first fix after a tunnel is accepted at once`(seed: UInt64) {
    for scenario in [SimulatedJourney.Scenario.highway, .walking] {
      let tunnel = drive(scenario, seed: seed, seconds: 130) { fix, second in
        (60..<120).contains(second) ? nil : fix
      }
      #expect(tunnel.modes[119] == .deadReckoning)
      #expect(tunnel.refusals[120] == nil && tunnel.modes[120] == .fused)
      #expect(tunnel.errors[120] < 10 && tunnel.errors[130] < 10)
    }
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `a fix that ends dead reckoning is compared with the prediction, once`(seed: UInt64) throws {
    let tunnel = drive(seed: seed, seconds: 130) { fix, second in (60..<120).contains(second) ? nil : fix }
    #expect(tunnel.checks[119] == nil)
    let check = try #require(tunnel.checks[120])
    // The prediction and its sigma are correct. A ratio above 3 has a probability of 0.3 % at most.
    #expect(check.ratio > 0 && check.ratio < 3)
    #expect(tunnel.checks[130]?.time == check.time)
  }

  @Test func `a fix that disagrees says by how much, until fixes agree or the solution has restarted`() throws {
    let jump = drive(seed: 3, seconds: 140) { fix, second in second == 60 ? displaced(fix) : fix }
    #expect(jump.disagreements[59] == nil && jump.disagreements[61] == nil)
    #expect(abs(try #require(jump.disagreements[60]) - 500) < 20)
    let insisting = drive(seed: 3, seconds: 140) { fix, second in second < 60 ? fix : displaced(fix) }
    #expect(abs(try #require(insisting.disagreements[110]) - 500) < 200)
    #expect(insisting.disagreements[125] == nil)
  }

  @Test func `a receiver that keeps reporting another place is believed after a minute, with RTK much sooner`() {
    let insisting = drive(seed: 3, seconds: 140) { fix, second in second < 60 ? fix : displaced(fix) }
    #expect(insisting.errors[110] < 200 && insisting.refusals[110] != nil)
    #expect(abs(insisting.errors[125] - 500) < 20 && insisting.refusals[125] == nil)

    let fixed = drive(seed: 3, seconds: 80) { fix, second in
      var fix = second < 60 ? fix : displaced(fix)
      fix.trust = .vouched
      return fix
    }
    #expect(fixed.refusals[66] != nil && fixed.refusals[70] == nil)
    #expect(abs(fixed.errors[75] - 500) < 20)
  }

  @Test func `a receiver that repeats exactly the same position while the vehicle moves counts as frozen`() {
    var held: GeodeticPosition?
    let frozen = drive(seed: 3, seconds: 100) { fix, second in
      guard second >= 60 else { return fix }
      var fix = fix
      held = held ?? fix.position
      fix.position = held ?? fix.position
      fix.velocity = .zero
      return fix
    }
    for second in 66...100 {
      #expect(frozen.refusals[second] != nil && frozen.errors[second] < 150, "second \(second)")
    }
    #expect(frozen.repetitions[68...80].allSatisfy { $0 } && !frozen.repetitions[..<60].contains(true))
    held = nil
    let parked = drive(.parked, seed: 3, seconds: 200) { fix, _ in
      var fix = fix
      held = held ?? fix.position
      fix.position = held ?? fix.position
      fix.velocity = .zero
      return fix
    }
    #expect(parked.refusals.allSatisfy { $0 == nil } && !parked.repetitions.contains(true))
    // The receiver recovers.
    held = nil
    let awake = drive(seed: 3, seconds: 80) { fix, second in
      guard (60..<70).contains(second) else { return fix }
      var fix = fix
      held = held ?? fix.position
      fix.position = held ?? fix.position
      return fix
    }
    #expect(awake.repetitions[69] && !awake.repetitions[70...].contains(true))
  }

  @Test func `a receiver that reports spoofing is not believed`() {
    let spoofed = drive(seed: 4, seconds: 140) { fix, second in
      guard second >= 60 else { return fix }
      var fix = displaced(fix)
      fix.trust = .doubted
      return fix
    }
    #expect(spoofed.refusals[120] != nil && spoofed.modes[120] == .deadReckoning)
  }

  @Test func `a receiver's first wrong fixes cause no refusal of later ones`() {
    let started = drive(seed: 5, seconds: 40) { fix, second in second < 5 ? displaced(fix) : fix }
    #expect(started.refusals.allSatisfy { $0 == nil })
    #expect(started.errors[20] < 10)
  }
}
