import MonotonicTime
import Testing

@testable import Hub

/// The decisions about a low battery, on a clock that only the test advances.
struct BatteryPolicyTests {
  private static let steps = [
    Degradation(every: .seconds(300)), Degradation(every: .seconds(3600), accuracyMetres: 50),
  ]

  /// A battery with the limits 12 V and 11.75 V for the two steps, and 11.5 V for the shutdown.
  private struct Bench {
    let clock = ManualClock()
    var policy: BatteryPolicy
    var effects: [BatteryPolicy.Effect] = []

    init(
      critical: Double? = 11.5, steps: [Degradation] = BatteryPolicyTests.steps, afterStart: Duration = .zero,
      every: Duration = .seconds(60)
    ) {
      policy = BatteryPolicy(
        BatterySettings(
          monitor: "supply", lowVolts: 12, criticalVolts: critical, hysteresisVolts: 0.3, grace: .seconds(30),
          every: every, afterStart: afterStart, steps: steps), at: clock.now)
    }

    /// Takes two samples a second for a time, the first one now.
    @discardableResult
    mutating func hold(_ volts: Double, seconds: Int, isCharging: Bool = false) -> [BatteryPolicy.Effect] {
      var found: [BatteryPolicy.Effect] = []
      for _ in 0..<2 * seconds {
        found += policy.receive(volts: volts, isCharging: isCharging, at: clock.now)
        clock.advance(by: .milliseconds(500))
      }
      effects += found
      return found
    }
  }

  @Test func `the first sample of a full battery decides, and the monitor then rests`() {
    var bench = Bench()
    #expect(bench.policy.level == nil && bench.policy.stepCount == 0)
    #expect(bench.policy.next == .sample(until: bench.clock.now + .seconds(10)))
    let effects = bench.policy.receive(volts: 12.6, isCharging: false, at: bench.clock.now)
    #expect(effects == [.level(.normal, volts: 12.6)])
    #expect(bench.policy.next == .rest(until: bench.clock.now + .seconds(60)))
    // At the limit itself the battery is not low.
    #expect(bench.policy.receive(volts: 12, isCharging: false, at: bench.clock.now).isEmpty)
    #expect(bench.policy.next == .rest(until: bench.clock.now + .seconds(60)))
  }

  @Test func `the first decision that the battery is low waits for the grace too`() {
    var bench = Bench()
    #expect(bench.hold(11.9, seconds: 30).isEmpty && bench.policy.level == nil)
    #expect(bench.hold(11.9, seconds: 1) == [.level(.low(limit: 1), volts: 11.9)])
  }

  @Test func `steps apply one after the other once the voltage has been below a limit for the grace`() {
    var bench = Bench()
    bench.hold(12.5, seconds: 1)
    #expect(bench.hold(11.99, seconds: 30).isEmpty)
    #expect(bench.policy.next == .sample(until: bench.clock.now + .milliseconds(9500)))
    #expect(bench.hold(11.99, seconds: 1) == [.level(.low(limit: 1), volts: 11.99)])
    #expect(bench.policy.stepCount == 1)
    #expect(bench.hold(11.7, seconds: 31) == [.level(.low(limit: 2), volts: 11.7)])
    #expect(bench.policy.stepCount == 2)
    #expect(
      bench.hold(11.4, seconds: 31) == [.level(.critical, volts: 11.4), .shutDown(volts: 11.4)])
    #expect(bench.policy.mustShutDown && bench.policy.stepCount == 2)
  }

  @Test func `a glitch of one sample changes nothing, and neither does a load that lasts less than the grace`() {
    var bench = Bench()
    bench.hold(12.5, seconds: 1)
    for _ in 0..<20 {
      #expect(bench.policy.receive(volts: 3, isCharging: false, at: bench.clock.now).isEmpty)
      bench.clock.advance(by: .milliseconds(500))
      bench.hold(12.5, seconds: 1)
    }
    // A starter motor lowers the voltage for less than the grace.
    bench.hold(9.5, seconds: 29)
    bench.hold(12.5, seconds: 1)
    bench.hold(9.5, seconds: 29)
    #expect(bench.effects == [.level(.normal, volts: 12.5)])
  }

  @Test func `a glitch upwards begins the grace again`() {
    var bench = Bench()
    bench.hold(12.5, seconds: 1)
    bench.hold(11.4, seconds: 29)
    bench.hold(12.1, seconds: 1)
    #expect(bench.hold(11.4, seconds: 30).isEmpty)
    #expect(bench.hold(11.4, seconds: 1).last == .shutDown(volts: 11.4))
  }

  @Test func `only the limits that the voltage was below for the whole grace apply`() {
    var bench = Bench()
    bench.hold(12.5, seconds: 1)
    bench.hold(11.9, seconds: 15)
    bench.hold(11.2, seconds: 15)
    // The voltage has been below 12 V for 30 s, and below 11.5 V for half of that.
    #expect(bench.hold(11.2, seconds: 1) == [.level(.low(limit: 1), volts: 11.2)])
    #expect(bench.hold(11.2, seconds: 29).isEmpty)
    #expect(bench.hold(11.2, seconds: 2) == [.level(.critical, volts: 11.2), .shutDown(volts: 11.2)])
  }

  @Test func `a limit stops applying only above the hysteresis, and after the grace`() {
    var bench = Bench()
    bench.hold(11.7, seconds: 31)
    #expect(bench.policy.level == .low(limit: 2))
    // The second limit is 11.75 V.
    #expect(bench.hold(12.04, seconds: 60).isEmpty)
    #expect(bench.hold(12.06, seconds: 31) == [.level(.low(limit: 1), volts: 12.06)])
    #expect(bench.hold(12.29, seconds: 60).isEmpty)
    #expect(bench.hold(12.31, seconds: 31) == [.level(.normal, volts: 12.31)])
    #expect(bench.policy.stepCount == 0)
  }

  @Test func `a recovery that lasts less than the grace keeps the steps`() {
    var bench = Bench()
    bench.hold(11.7, seconds: 31)
    let before = bench.effects
    for _ in 0..<10 {
      bench.hold(13.8, seconds: 20)
      bench.hold(11.7, seconds: 5)
    }
    #expect(bench.effects == before)
  }

  @Test func `missing samples shut nothing down, and the grace begins again`() {
    var bench = Bench()
    bench.hold(12.5, seconds: 1)
    bench.hold(11.4, seconds: 20)
    bench.clock.advance(by: .seconds(10))
    #expect(bench.policy.missed(at: bench.clock.now).isEmpty)
    #expect(bench.policy.next == .rest(until: bench.clock.now + .seconds(60)))
    bench.clock.advance(by: .seconds(60))
    bench.policy.look(at: bench.clock.now)
    #expect(bench.policy.next == .sample(until: bench.clock.now + .seconds(10)))
    #expect(bench.hold(11.4, seconds: 30).isEmpty)
    #expect(bench.hold(11.4, seconds: 1).last == .shutDown(volts: 11.4))
  }

  @Test func `samples with a gap between them are not consecutive`() {
    var bench = Bench()
    bench.hold(12.5, seconds: 1)
    for _ in 0..<10 {
      #expect(bench.policy.receive(volts: 11, isCharging: false, at: bench.clock.now).isEmpty)
      bench.clock.advance(by: .seconds(11))
    }
  }

  @Test func `a monitor that fails keeps the steps, and a value that is not a number counts as missing`() {
    var bench = Bench()
    bench.hold(11.9, seconds: 31)
    for _ in 0..<100 {
      #expect(bench.policy.missed(at: bench.clock.now).isEmpty)
      bench.clock.advance(by: .seconds(60))
    }
    for volts in [Double.nan, .infinity, -.infinity] {
      #expect(bench.policy.receive(volts: volts, isCharging: false, at: bench.clock.now).isEmpty)
    }
    #expect(bench.policy.level == .low(limit: 1) && bench.policy.stepCount == 1)
  }

  @Test func `a battery that is being charged does not shut the board down, and its steps stay`() {
    var bench = Bench()
    bench.hold(12.5, seconds: 1)
    #expect(bench.hold(11, seconds: 600, isCharging: true) == [.level(.low(limit: 2), volts: 11)])
    #expect(!bench.policy.mustShutDown)
    // At sunset the charging ends.
    #expect(bench.hold(11, seconds: 30).isEmpty)
    #expect(bench.hold(11, seconds: 1) == [.level(.critical, volts: 11), .shutDown(volts: 11)])
    // The charger is connected while the hooks run.
    #expect(bench.hold(11.2, seconds: 600, isCharging: true).isEmpty)
    #expect(bench.policy.level == .critical && !bench.policy.mustShutDown)
    #expect(bench.hold(11.9, seconds: 31, isCharging: true) == [.level(.low(limit: 2), volts: 11.9)])
  }

  @Test func `a refused shutdown is tried again after growing pauses`() {
    var bench = Bench()
    bench.hold(12.5, seconds: 1)
    bench.hold(11, seconds: 31)
    #expect(bench.effects.last == .shutDown(volts: 11))
    var pauses: [Int] = []
    for _ in 0..<6 {
      bench.policy.shutDownRefused(at: bench.clock.now)
      var seconds = 0
      while bench.hold(11, seconds: 1).isEmpty, seconds < 2000 { seconds += 1 }
      pauses.append(seconds)
    }
    #expect(pauses == [60, 120, 240, 480, 900, 900])
    // After a recovery the pauses begin again.
    bench.hold(12.6, seconds: 31)
    #expect(bench.policy.level == .normal)
    #expect(bench.hold(11, seconds: 31).last == .shutDown(volts: 11))
  }

  @Test func `the monitor measures again when a refused shutdown is due, however seldom it measures`() {
    var bench = Bench(every: .seconds(3600))
    bench.hold(12.5, seconds: 1)
    bench.hold(11, seconds: 31)
    #expect(bench.effects.last == .shutDown(volts: 11))
    bench.clock.advance(by: .seconds(20))
    bench.policy.shutDownRefused(at: bench.clock.now)
    let due = bench.clock.now + .seconds(60)
    guard case .rest(let until) = bench.policy.next else {
      Issue.record("it does not rest")
      return
    }
    // The sample at this time may be a little too early.
    #expect(until <= due && until > bench.clock.now)
    bench.clock.advance(by: until - bench.clock.now)
    bench.effects = bench.policy.receive(volts: 11, isCharging: false, at: bench.clock.now)
    if bench.effects.isEmpty {
      #expect(bench.policy.next == .rest(until: due))
      bench.clock.advance(by: due - bench.clock.now)
      bench.effects = bench.policy.receive(volts: 11, isCharging: false, at: bench.clock.now)
    }
    #expect(bench.effects == [.shutDown(volts: 11)])
  }

  @Test func `a board with a wrong limit stays on after its start, so that a person can log in`() {
    var bench = Bench(afterStart: .seconds(300))
    let start = bench.clock.now
    #expect(bench.hold(11, seconds: 31) == [.level(.critical, volts: 11)])
    #expect(bench.policy.mustShutDown && bench.policy.isStarting(at: bench.clock.now))
    #expect(bench.hold(11, seconds: 269).isEmpty)
    // The monitor does not rest beyond that time.
    #expect(bench.policy.next == .rest(until: start + .seconds(300)))
    #expect(bench.hold(11, seconds: 1) == [.shutDown(volts: 11)])
  }

  @Test func `a board that its alarm has started does not stay on with an empty battery`() {
    var bench = Bench(afterStart: .seconds(300))
    bench.policy.startIsOver(at: bench.clock.now)
    #expect(!bench.policy.isStarting(at: bench.clock.now))
    #expect(bench.hold(11, seconds: 31) == [.level(.critical, volts: 11), .shutDown(volts: 11)])
  }

  @Test func `the policy begins again after a suspension of the machine`() {
    var bench = Bench()
    bench.hold(12.5, seconds: 1)
    bench.hold(11, seconds: 29)
    bench.policy.resume(at: bench.clock.now)
    #expect(bench.policy.next == .sample(until: bench.clock.now + .seconds(10)))
    #expect(bench.hold(11, seconds: 30).isEmpty)
    #expect(!bench.hold(11, seconds: 1).isEmpty)
  }

  @Test func `without a critical voltage all steps apply at once, and the board stays on`() {
    var bench = Bench(critical: nil)
    bench.hold(12.5, seconds: 1)
    #expect(bench.hold(2, seconds: 300) == [.level(.low(limit: 2), volts: 2)])
    #expect(bench.policy.stepCount == 2 && !bench.policy.mustShutDown)
    var bare = Bench(critical: nil, steps: [])
    #expect(bare.hold(2, seconds: 31) == [.level(.low(limit: 1), volts: 2)])
    #expect(bare.policy.stepCount == 0)
  }
}
