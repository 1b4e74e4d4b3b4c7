import MonotonicTime
import TestSupport
import Testing

@testable import Hub

/// How a device's idle timeout follows from its visits and starts.
struct LearnedIdleTimeoutTests {
  /// A receiver that takes 28 s to find its position, whatever its earlier knowledge.
  private let costs = LearnedIdleTimeout.Costs(watts: 0.1, assumedJoules: 2.8)

  /// Simulates visits after these gaps in seconds, with starts that take as long as stated. Returns the energy cost of
  /// staying idle.
  @discardableResult
  private func live(_ gaps: [Double], with idleTimeout: inout LearnedIdleTimeout, startSeconds: Double = 28) -> Double {
    var joules = 0.0
    for gap in gaps {
      let seconds = idleTimeout.decide(costs).seconds
      let start = costs.watts * startSeconds
      joules += gap <= seconds ? costs.watts * gap : costs.watts * seconds + start
      idleTimeout.visited(after: gap, lingered: seconds, costs)
      if gap > seconds { idleTimeout.restarts.started(after: gap - seconds, joules: start, seconds: startSeconds) }
    }
    return joules
  }

  @Test func `learned values are reported in readable units`() {
    var learned = LearnedIdleTimeout()
    let chip = LearnedIdleTimeout.Costs(watts: 0.01, assumedJoules: 0.0011)
    let before = IdleTimeoutReport(isLearned: false, usual: .seconds(2), learned: learned, costs: chip).explanation
    #expect(before.contains("the hub has measured no restart yet, and assumes that one takes 1.1 mJ"), "\(before)")
    #expect(before.allSatisfy { $0.split(separator: ": ").count <= 2 }, "\(before)")
    learned.restarts.started(after: 5, joules: 0.0004, seconds: 0.04)
    let after = IdleTimeoutReport(isLearned: false, usual: .seconds(2), learned: learned, costs: chip).explanation
    #expect(after.contains { $0.contains(" start takes 0.04 s and 0.4 mJ, from 1 start") }, "\(after)")
  }

  @Test func `without history, the idle timeout is the time in which staying on costs as much as a restart`() {
    let decision = LearnedIdleTimeout().decide(costs)
    #expect(decision.ground == .noHistory && abs(decision.seconds - 28) < 1e-9)
  }

  @Test func `the idle timeout covers a learned period, or is zero where that is cheaper`() {
    var often = LearnedIdleTimeout()
    live(Array(repeating: 12, count: 10), with: &often)
    let decision = often.decide(costs)
    #expect(decision.ground == .learnt && decision.expectedReturns > 0.99)
    #expect((12.0...15).contains(decision.seconds), "\(decision.seconds)")
    var seldom = LearnedIdleTimeout()
    live(Array(repeating: 60, count: 10), with: &seldom)
    #expect(seldom.decide(costs).seconds == 0)
    // The device stays on between visits of a burst, although this costs more in the long gap after each burst.
    var bursts = LearnedIdleTimeout()
    for _ in 0..<10 { live([4, 5, 6, 7200], with: &bursts) }
    #expect((6.0...8).contains(bursts.decide(costs).seconds), "\(bursts.decide(costs).seconds)")
  }

  @Test(arguments: [(60.0, 12.0), (12.0, 60.0), (7200.0, 3.0)])
  func `a wrong learned value is corrected within ten starts`(_ old: Double, _ new: Double) {
    var idleTimeout = LearnedIdleTimeout()
    live(Array(repeating: old, count: 200), with: &idleTimeout)
    live(Array(repeating: new, count: 10), with: &idleTimeout)
    let seconds = idleTimeout.decide(costs).seconds
    #expect(new < 28 ? (new...1.3 * new).contains(seconds) : seconds == 0, "\(seconds)")
  }

  @Test func `a visit without a fix, however long, hardly changes the expected cost of a restart`() {
    var idleTimeout = LearnedIdleTimeout()
    live(Array(repeating: 600, count: 20), with: &idleTimeout, startSeconds: 1.5)
    idleTimeout.restarts.started(after: 600, joules: costs.watts * 3600, seconds: 3600, isComplete: false)
    #expect(idleTimeout.decide(costs).breakEvenSeconds < 2 * 1.5)
    // The receiver has a night of scheduled fixes under a roof.
    for _ in 0..<500 {
      idleTimeout.restarts.started(after: 15, joules: costs.watts * 45, seconds: 45, isComplete: false)
    }
    #expect(idleTimeout.decide(costs).breakEvenSeconds < 2 * 1.5, "\(idleTimeout.decide(costs).breakEvenSeconds)")
    // Once starts have been observed to take longer, the new duration is used.
    for _ in 0..<3 { idleTimeout.restarts.started(after: 15, joules: costs.watts * 30, seconds: 30) }
    #expect(abs(idleTimeout.decide(costs).breakEvenSeconds / 30 - 1) < 0.01)
  }

  @Test(arguments: [(28.0, 1.5), (1.5, 28.0)])
  func `another receiver, or another place for its antenna, is noticed within ten starts`(_ old: Double, _ new: Double)
  {
    var idleTimeout = LearnedIdleTimeout()
    live(Array(repeating: 600, count: 100), with: &idleTimeout, startSeconds: old)
    #expect(abs(idleTimeout.decide(costs).breakEvenSeconds - old) < 0.01)
    live(Array(repeating: 600, count: 10), with: &idleTimeout, startSeconds: new)
    #expect(abs(idleTimeout.decide(costs).breakEvenSeconds / new - 1) < 0.1)
    // A single start that takes much longer changes little.
    idleTimeout.restarts.started(after: 600, joules: costs.watts * 300, seconds: 300)
    live(Array(repeating: 600, count: 20), with: &idleTimeout, startSeconds: new)
    #expect(abs(idleTimeout.decide(costs).breakEvenSeconds / new - 1) < 0.5)
  }

  @Test
  func `the idle timeout never exceeds break-even and costs at most twice the optimum, for any pattern of visits`() {
    var chance = SeededRandom()
    for _ in 0..<40 {
      var idleTimeout = LearnedIdleTimeout()
      var (cost, optimum) = (0.0, 0.0)
      var habit = 0
      for visit in 0..<300 {
        if visit % 25 == 0 { habit = .random(in: 0..<4, using: &chance) }
        let decision = idleTimeout.decide(costs)
        #expect(decision.seconds <= 28 + 1e-9)
        let gap =
          switch habit {
          // The visit comes just after the device was switched off.
          case 0: decision.seconds + 0.001
          case 1: Double.random(in: 0...10, using: &chance)
          case 2: Double.random(in: 20...40, using: &chance)
          default: Double.random(in: 0...3600, using: &chance)
          }
        cost += live([gap], with: &idleTimeout)
        optimum += min(costs.watts * gap, 2.8)
        // The initial allowance is two restarts.
        #expect(cost <= 2.02 * optimum + 2 * 2.8 + 1e-6, "after \(visit) visits: \(cost) of \(optimum)")
      }
    }
  }

  @Test func `an expensive restart is tried again even if every client comes back during the idle timeout`() {
    var idleTimeout = LearnedIdleTimeout()
    live(Array(repeating: 20, count: 10), with: &idleTimeout)
    for _ in 0..<3 { idleTimeout.restarts.started(after: 600, joules: costs.watts * 300, seconds: 300) }
    #expect(abs(idleTimeout.decide(costs).breakEvenSeconds - 300) < 0.01 && idleTimeout.decide(costs).seconds >= 20)
    // A start takes 2 s from now on. With visits every 20 s, half a day is enough to notice.
    var starts = 0
    for _ in 0..<12 * 3600 / 20 {
      if idleTimeout.decide(costs).seconds < 20 { starts += 1 }
      live([20], with: &idleTimeout, startSeconds: 2)
      if idleTimeout.decide(costs).breakEvenSeconds < 3 { break }
    }
    #expect(
      idleTimeout.decide(costs).breakEvenSeconds < 3,
      "\(idleTimeout.decide(costs).breakEvenSeconds) s after \(starts) starts")
    #expect(starts <= 10)
  }

  @Test func `a restart that stays expensive is tried so rarely that it costs little`() {
    var idleTimeout = LearnedIdleTimeout()
    live(Array(repeating: 600, count: 4), with: &idleTimeout)
    // The visits continue until the pattern is learned.
    live(Array(repeating: 12, count: 40), with: &idleTimeout)
    var hasTried = false
    var cost = 0.0
    for _ in 0..<1000 {
      let decision = idleTimeout.decide(costs)
      if decision.ground == .trial {
        hasTried = true
        #expect(decision.seconds == 0 && decision.reason.contains("the hub tries a restart"))
      }
      cost += live([12], with: &idleTimeout)
    }
    #expect(hasTried)
    #expect(cost <= 1.06 * costs.watts * 12 * 1000, "\(cost) J")
  }

  @Test func `a trial restart ends with the start, even if a scheduled fix caused it`() {
    var idleTimeout = LearnedIdleTimeout()
    live(Array(repeating: 600, count: 4), with: &idleTimeout)
    for _ in 0..<1000 where idleTimeout.decide(costs).ground != .trial { live([12], with: &idleTimeout) }
    #expect(idleTimeout.decide(costs).ground == .trial)
    let usageHistory = UsageHistory(of: "ublox on /dev/gps", systemTime: { 0 })
    usageHistory.learn { $0 = idleTimeout }
    let start = MonotonicInstant(nanoseconds: 0)
    var usage = UsageRecorder()
    #expect(usage.released(at: start, 0, restWatts: 0) == nil)
    usage.required(at: start + .seconds(60), 0)
    // A client with a schedule does not count as a visit.
    usage.forgetGap()
    usageHistory.learn(from: usage.tracking(at: start + .seconds(88), 2.8 / 3.6, restWatts: 0))
    let decision = usageHistory.learned.decide(costs)
    #expect(decision.ground == .learnt && decision.seconds >= 12, "\(decision)")
  }

  @Test func `if sleeping saves nothing, the device's explanation says so`() {
    let decision = LearnedIdleTimeout().decide(.init(watts: 0, assumedJoules: 1))
    #expect(decision.ground == .nothingToSave && decision.reason.contains("save nothing"))
  }

  /// The measured saving of a rest is only the noise of a supply monitor.
  @Test func `if sleeping saves next to nothing, the idle timeout is at most a week`() {
    let noise = LearnedIdleTimeout.Costs(watts: 5e-20, assumedJoules: 0)
    var idleTimeout = LearnedIdleTimeout()
    idleTimeout.restarts.started(after: 60, joules: 2.8, seconds: 28)
    #expect(idleTimeout.decide(noise).seconds == 7 * 86_400)
    for _ in 0..<20 { idleTimeout.visited(after: 600, lingered: nil, noise) }
    #expect(idleTimeout.decide(noise).seconds <= 7 * 86_400 && idleTimeout.decide(noise).breakEvenSeconds == 7 * 86_400)
  }
}
