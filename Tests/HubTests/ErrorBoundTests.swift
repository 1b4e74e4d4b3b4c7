import Fusion
import MonotonicTime
import TestSupport
import Testing

@testable import Hub

/// When the next fix is needed, so that the position stays within a bound.
struct ErrorBoundTests {
  private static func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64((1000 + seconds) * 1e9))
  }

  private static func estimate(
    _ carrier: ErrorBound.Carrier, sigma: Double = 3, speed: Double? = nil, at seconds: Double = 0
  ) -> ErrorBound.Estimate {
    ErrorBound.Estimate(sigmaMetres: sigma, carrier: carrier, speedMetresPerSecond: speed, at: at(seconds))
  }

  /// Returns how long after a fix the next one is due.
  private static func seconds(_ bound: Double, _ estimate: ErrorBound.Estimate?) -> Double {
    var decision = ErrorBound(metres: bound, within: .seconds(60))
    decision.receive(estimate, at: at(0))
    return decision.interval.inSeconds
  }

  @Test func `the error bound grows with the motion, and the time until a given sigma can be computed`() {
    let growth = SigmaGrowth(
      sigmaMetres: 3, metresPerSecond: 1, metresPerSecondSquared: 2, mostMetresPerSecond: 9)
    #expect(growth.sigma(after: 0) == 3)
    // A speed of 1 m/s and an acceleration of 2 m/s² make 6 m in two seconds.
    #expect(abs(growth.sigma(after: 2) - 45.0.squareRoot()) < 1e-9)
    // After four seconds and 20 m the speed grows no further.
    #expect(abs(growth.sigma(after: 10) - (9.0 + 74 * 74).squareRoot()) < 1e-9)
    for seconds in [0.5, 2, 4, 10, 1000] {
      let bound = growth.sigma(after: seconds)
      #expect(abs(growth.seconds(until: bound, atMost: 1e5) - seconds) < 1e-6)
    }
    #expect(growth.seconds(until: 3, atMost: 10) == 0 && growth.seconds(until: 1e9, atMost: 10) == 10)
  }

  @Test func `a growth that is not a number requests the next fix at once, and not after hours`() {
    let growth = SigmaGrowth(sigmaMetres: 3, metresPerSecond: .nan, metresPerSecondSquared: 0)
    #expect(growth.seconds(until: 10, atMost: 6 * 3600) == 0)
    #expect(
      Self.seconds(25, Self.estimate(.reckoning(sigmaMetresPerSecond: .nan, inclinationSigmaRadians: 0.01))) == 1)
    #expect(Self.seconds(25, Self.estimate(.nothing, speed: .nan)) == 1)
  }

  @Test func `a board that stands needs a fix after hours, one on a motorway after seconds`() {
    let still = Self.seconds(25, Self.estimate(.stillness))
    #expect(still == ErrorBound.longest)
    // The growth of the error reaches half of this bound after 0.4 m of creep, added to the fix in quadrature.
    #expect((10_000...18_000).contains(Self.seconds(14.81, Self.estimate(.stillness))))
    // At 35 m/s without dead reckoning, the bound is reached in less than a second.
    #expect(Self.seconds(25, Self.estimate(.nothing, speed: 35)) == 1)
    #expect((4...8).contains(Self.seconds(25, Self.estimate(.nothing, speed: 0))))
    let good = ErrorBound.Carrier.reckoning(sigmaMetresPerSecond: 0.1, inclinationSigmaRadians: 0.005)
    let poor = ErrorBound.Carrier.reckoning(sigmaMetresPerSecond: 0.5, inclinationSigmaRadians: 0.02)
    let (long, short) = (Self.seconds(25, Self.estimate(good, speed: 35)), Self.seconds(25, Self.estimate(poor)))
    #expect((15...25).contains(long) && (5...12).contains(short), "\(long) s, \(short) s")
  }

  @Test func `if a fix is missing or no better than the bound, the next one is requested at once`() {
    #expect(Self.seconds(25, nil) == 1)
    #expect(Self.seconds(25, Self.estimate(.nothing, sigma: 30)) == 1)
    var bound = ErrorBound(metres: 25, within: .seconds(60))
    // A fix that came early has waited until it was due.
    bound.receive(Self.estimate(.reckoning(sigmaMetresPerSecond: 1, inclinationSigmaRadians: 0)), at: Self.at(0))
    let whole = bound.interval.inSeconds
    bound.receive(
      Self.estimate(.reckoning(sigmaMetresPerSecond: 1, inclinationSigmaRadians: 0), at: -5), at: Self.at(0))
    #expect(abs(whole - bound.interval.inSeconds - 5) < 1e-6)
    // At most half of the bound is for the error of the fix.
    #expect(bound.schedule.accuracyMetres == 12.5)
  }

  @Test func `if a fix disagrees with dead reckoning, the next one is requested at once`() throws {
    func state(disagreement: Double?) -> FusedState {
      var state = FusedState(at: Self.at(0))
      state.mode = .fused
      state.disagreementMetres = disagreement
      let position = FusedState.Position(
        latitudeDegrees: 47, longitudeDegrees: 8, altitudeHAEMetres: nil, altitudeMSLMetres: nil,
        horizontalSigmaMetres: 3, verticalSigmaMetres: nil)
      state.position = Dated(position, at: Self.at(0), source: .gps)
      return state
    }
    // The sigma is 3 m, but the fix is 40 m away.
    let doubted = try #require(ErrorBound.Estimate(state(disagreement: 40), isStill: false))
    #expect(abs(doubted.sigmaMetres - 40 / Confidence.radial) < 1e-9 && Self.seconds(25, doubted) == 1)
    #expect(!state(disagreement: 40).suits(Schedule(every: .seconds(1), accuracyMetres: 12.5)))
    let certain = try #require(ErrorBound.Estimate(state(disagreement: nil), isStill: false))
    #expect(abs(certain.sigmaMetres - 3) < 1e-9 && Self.seconds(25, certain) > 1)
  }

  @Test func `dead reckoning that was worse than its sigma gets shorter intervals, until it has been good again`() {
    var bound = ErrorBound(metres: 25, within: .seconds(60))
    var second = 0.0
    // Returns the interval after a fix that was further from the predicted position than the sigma says.
    func interval(ratio: Double?) -> Double {
      second += 100
      var estimate = Self.estimate(
        .reckoning(sigmaMetresPerSecond: 0.1, inclinationSigmaRadians: 0.005), at: second)
      estimate.check = ratio.map { FusedState.ReckoningCheck(at: Self.at(second), ratio: $0) }
      bound.receive(estimate, at: Self.at(second))
      return bound.interval.inSeconds
    }
    let usual = interval(ratio: nil)
    // Small errors prove nothing.
    for _ in 0..<5 { #expect(interval(ratio: 0.3) == usual) }
    for _ in 0..<30 { _ = interval(ratio: 3) }
    // The sigma, which grows mainly with the square of time, counts three times.
    let doubted = interval(ratio: 3)
    #expect((usual / 3...usual / 1.7).contains(doubted), "\(doubted) s, \(usual) s")
    // One lost solution or one jump of the receiver is no reason to keep it on.
    for _ in 0..<50 { _ = interval(ratio: 1) }
    #expect(interval(ratio: 1000) > usual / 2)
    for _ in 0..<50 { _ = interval(ratio: 1) }
    #expect(abs(interval(ratio: 1) - usual) < 0.05 * usual)
  }

  @Test func `one comparison of dead reckoning with a fix counts once, and also raises the present sigma`() {
    let carrier = ErrorBound.Carrier.reckoning(sigmaMetresPerSecond: 0.1, inclinationSigmaRadians: 0.005)
    // Returns the time until the next fix, seen two seconds after the last of some fixes with the same comparison.
    func seconds(ratio: Double, fixes: Int) -> Double {
      var bound = ErrorBound(metres: 25, within: .seconds(60))
      var estimate = Self.estimate(carrier)
      estimate.check = FusedState.ReckoningCheck(at: Self.at(0), ratio: ratio)
      for _ in 0..<fixes { bound.receive(estimate, at: Self.at(0)) }
      _ = bound.review(Self.estimate(carrier, sigma: 5, at: 2), lead: .seconds(5), at: Self.at(2))
      return bound.interval.inSeconds
    }
    #expect(seconds(ratio: 5, fixes: 1) == seconds(ratio: 5, fixes: 10))
    #expect(seconds(ratio: 5, fixes: 1) < seconds(ratio: 1, fixes: 1))
  }

  @Test func `a board that was fast may be fast again, until that is long ago`() {
    var bound = ErrorBound(metres: 100, within: .seconds(60))
    func standing(_ seconds: Double) -> Double {
      bound.receive(Self.estimate(.nothing, speed: 0, at: seconds), at: Self.at(seconds))
      return bound.interval.inSeconds
    }
    let walking = standing(0)
    bound.receive(Self.estimate(.nothing, speed: 30, at: 10), at: Self.at(10))
    let afterDriving = standing(20)
    #expect(afterDriving < walking / 2, "\(afterDriving) s, \(walking) s")
    #expect(abs(standing(20 + 16 * 60) - walking) < 1e-6)
  }

  @Test func `worse dead reckoning than expected brings the next fix forward, unless the receiver already starts`() {
    let good = ErrorBound.Carrier.reckoning(sigmaMetresPerSecond: 0.1, inclinationSigmaRadians: 0.005)
    let poor = ErrorBound.Carrier.reckoning(sigmaMetresPerSecond: 1, inclinationSigmaRadians: 0.02)
    var bound = ErrorBound(metres: 25, within: .seconds(60))
    let lead = Duration.seconds(5)
    // The macro cannot call a mutating method.
    func review(_ estimate: ErrorBound.Estimate, at seconds: Double) -> Bool {
      bound.review(estimate, lead: lead, at: Self.at(seconds))
    }
    #expect(!review(Self.estimate(good), at: 0))
    bound.receive(Self.estimate(good), at: Self.at(0))
    let planned = bound.interval.inSeconds
    // The estimate is as expected.
    #expect(!review(Self.estimate(good, sigma: 3, at: 1), at: 1))
    #expect(review(Self.estimate(poor, sigma: 8, at: 2), at: 2))
    let due = 2 + bound.interval.inSeconds
    #expect(due < planned && due >= 7)
    // The receiver has been woken by now.
    #expect(!review(Self.estimate(poor, sigma: 20, at: due - 5), at: due - 5))
    // If the bound will be exceeded before a receiver can have started, the fix is due as soon as a start allows.
    bound.receive(Self.estimate(good, at: 100), at: Self.at(100))
    #expect(review(Self.estimate(poor, sigma: 24.9, at: 101), at: 101))
    #expect(bound.interval == .seconds(6))
  }

  @Test func `only the interval of a standing board needs stillness`() {
    var bound = ErrorBound(metres: 25, within: .seconds(60))
    #expect(!bound.schedule.needsStillness)
    bound.receive(Self.estimate(.stillness), at: Self.at(0))
    #expect(bound.schedule.needsStillness && bound.schedule.every == .seconds(ErrorBound.longest))
    // Dead reckoning has taken over.
    let poor = ErrorBound.Carrier.reckoning(sigmaMetresPerSecond: 1, inclinationSigmaRadians: 0.02)
    let isChanged = bound.review(Self.estimate(poor, at: 10), lead: .seconds(5), at: Self.at(10))
    #expect(isChanged && !bound.schedule.needsStillness && bound.interval < .seconds(60))
    bound.receive(Self.estimate(.stillness), at: Self.at(20))
    bound.receive(nil, at: Self.at(30))
    #expect(!bound.schedule.needsStillness && bound.interval == .seconds(1))
    bound.receive(Self.estimate(.stillness), at: Self.at(40))
    bound.receive(Self.estimate(.nothing, speed: 0), at: Self.at(50))
    #expect(!bound.schedule.needsStillness && bound.interval < .seconds(10))
  }

  @Test func `a standing board whose fix is good enough only because energy is short gets the next fix after hours`() {
    var bound = ErrorBound(metres: 25, within: .seconds(60))
    // A radius of 20 m is more than half of the bound.
    let poor = Self.estimate(.stillness, sigma: 20 / Confidence.radial)
    bound.receive(poor, at: Self.at(0))
    #expect(bound.interval == .seconds(1))
    bound.receive(poor, degradedMetres: 50, at: Self.at(0))
    #expect(bound.interval == .seconds(ErrorBound.longest) && bound.schedule.needsStillness)
    #expect(bound.schedule.accuracyMetres == 12.5)
    // The interval for a board that may move does not change.
    let moving = Self.estimate(.nothing, speed: 1)
    bound.receive(moving, at: Self.at(0))
    let usual = bound.interval
    bound.receive(moving, degradedMetres: 50, at: Self.at(0))
    #expect(bound.interval == usual)
  }
}
