import MonotonicTime
import TestSupport
import Testing

@testable import Hub

/// How long a device lingers by what its visits and its starts have taught.
struct LearnedLingerTests {
  /// A receiver that takes 28 s to find its position, whatever its earlier knowledge.
  private let costs = LearnedLinger.Costs(watts: 0.1, assumedJoules: 2.8)

  /// Has visitors come after these gaps, in seconds, and the device started as long as that takes. Returns what lingering cost.
  @discardableResult
  private func live(_ gaps: [Double], with linger: inout LearnedLinger, startSeconds: Double = 28) -> Double {
    var joules = 0.0
    for gap in gaps {
      let seconds = linger.decide(costs).seconds
      let start = costs.watts * startSeconds
      joules += gap <= seconds ? costs.watts * gap : costs.watts * seconds + start
      linger.visited(after: gap, lingered: seconds, costs)
      if gap > seconds { linger.restarts.started(after: gap - seconds, joules: start, seconds: startSeconds) }
    }
    return joules
  }

  @Test func `what it has learnt is told in units that show it`() {
    var learned = LearnedLinger()
    let chip = LearnedLinger.Costs(watts: 0.01, assumedJoules: 0.0011)
    let before = LingerReport(isLearned: false, usual: .seconds(2), learned: learned, costs: chip).explanation
    #expect(before.contains("no restart has been seen yet; one is assumed to take 1.1 mJ"), "\(before)")
    #expect(before.allSatisfy { $0.split(separator: ": ").count <= 2 }, "\(before)")
    learned.restarts.started(after: 5, joules: 0.0004, seconds: 0.04)
    let after = LingerReport(isLearned: false, usual: .seconds(2), learned: learned, costs: chip).explanation
    #expect(after.contains { $0.contains(" start takes 0.04 s and 0.4 mJ, by 1 start") }, "\(after)")
  }

  @Test func `without history it lingers for as long as a restart costs`() {
    let decision = LearnedLinger().decide(costs)
    #expect(decision.ground == .noHistory && abs(decision.seconds - 28) < 1e-9)
  }

  @Test func `it learns a period and lingers across it, or not at all where that is cheaper`() {
    var often = LearnedLinger()
    live(Array(repeating: 12, count: 10), with: &often)
    let decision = often.decide(costs)
    #expect(decision.ground == .learnt && decision.expectedReturns > 0.99)
    #expect((12.0...15).contains(decision.seconds), "\(decision.seconds)")
    var seldom = LearnedLinger()
    live(Array(repeating: 60, count: 10), with: &seldom)
    #expect(seldom.decide(costs).seconds == 0)
    // Visits that come in bursts are lingered across, although the long gap after each burst costs that much more.
    var bursts = LearnedLinger()
    for _ in 0..<10 { live([4, 5, 6, 7200], with: &bursts) }
    #expect((6.0...8).contains(bursts.decide(costs).seconds), "\(bursts.decide(costs).seconds)")
  }

  @Test(arguments: [(60.0, 12.0), (12.0, 60.0), (7200.0, 3.0)])
  func `a wrong lesson is unlearnt within ten starts`(_ old: Double, _ new: Double) {
    var linger = LearnedLinger()
    live(Array(repeating: old, count: 200), with: &linger)
    live(Array(repeating: new, count: 10), with: &linger)
    let seconds = linger.decide(costs).seconds
    #expect(new < 28 ? (new...1.3 * new).contains(seconds) : seconds == 0, "\(seconds)")
  }

  @Test func `a visit without a fix, however long, hardly changes what a restart is taken to cost`() {
    var linger = LearnedLinger()
    live(Array(repeating: 600, count: 20), with: &linger, startSeconds: 1.5)
    linger.restarts.started(after: 600, joules: costs.watts * 3600, seconds: 3600, isComplete: false)
    #expect(linger.decide(costs).breakEvenSeconds < 2 * 1.5)
    // A night of fixes on a schedule under a roof.
    for _ in 0..<500 {
      linger.restarts.started(after: 15, joules: costs.watts * 45, seconds: 45, isComplete: false)
    }
    #expect(linger.decide(costs).breakEvenSeconds < 2 * 1.5, "\(linger.decide(costs).breakEvenSeconds)")
    // Once it is found that it does take longer, that is learnt.
    for _ in 0..<3 { linger.restarts.started(after: 15, joules: costs.watts * 30, seconds: 30) }
    #expect(abs(linger.decide(costs).breakEvenSeconds / 30 - 1) < 0.01)
  }

  @Test(arguments: [(28.0, 1.5), (1.5, 28.0)])
  func `another receiver, or another place for its antenna, is noticed within ten starts`(_ old: Double, _ new: Double)
  {
    var linger = LearnedLinger()
    live(Array(repeating: 600, count: 100), with: &linger, startSeconds: old)
    #expect(abs(linger.decide(costs).breakEvenSeconds - old) < 0.01)
    live(Array(repeating: 600, count: 10), with: &linger, startSeconds: new)
    #expect(abs(linger.decide(costs).breakEvenSeconds / new - 1) < 0.1)
    // One start that takes much longer teaches nothing but that it does now and then.
    linger.restarts.started(after: 600, joules: costs.watts * 300, seconds: 300)
    live(Array(repeating: 600, count: 20), with: &linger, startSeconds: new)
    #expect(abs(linger.decide(costs).breakEvenSeconds / new - 1) < 0.5)
  }

  @Test func `it never lingers beyond break-even, nor costs more than twice the optimum, whoever comes when`() {
    var chance = SeededRandom()
    for _ in 0..<40 {
      var linger = LearnedLinger()
      var (cost, optimum) = (0.0, 0.0)
      var habit = 0
      for visit in 0..<300 {
        if visit % 25 == 0 { habit = .random(in: 0..<4, using: &chance) }
        let decision = linger.decide(costs)
        #expect(decision.seconds <= 28 + 1e-9)
        let gap =
          switch habit {
          // Just when it has been switched off.
          case 0: decision.seconds + 0.001
          case 1: Double.random(in: 0...10, using: &chance)
          case 2: Double.random(in: 20...40, using: &chance)
          default: Double.random(in: 0...3600, using: &chance)
          }
        cost += live([gap], with: &linger)
        optimum += min(costs.watts * gap, 2.8)
        // Its initial savings are two restarts.
        #expect(cost <= 2.02 * optimum + 2 * 2.8 + 1e-6, "after \(visit) visits: \(cost) of \(optimum)")
      }
    }
  }

  @Test func `a restart that was dear once is tried again though every visitor comes while it lingers`() {
    var linger = LearnedLinger()
    live(Array(repeating: 20, count: 10), with: &linger)
    for _ in 0..<3 { linger.restarts.started(after: 600, joules: costs.watts * 300, seconds: 300) }
    #expect(abs(linger.decide(costs).breakEvenSeconds - 300) < 0.01 && linger.decide(costs).seconds >= 20)
    // From now on a start takes 2 s: of visitors every 20 s a dozen hours are enough to see it.
    var starts = 0
    for _ in 0..<12 * 3600 / 20 {
      if linger.decide(costs).seconds < 20 { starts += 1 }
      live([20], with: &linger, startSeconds: 2)
      if linger.decide(costs).breakEvenSeconds < 3 { break }
    }
    #expect(
      linger.decide(costs).breakEvenSeconds < 3, "\(linger.decide(costs).breakEvenSeconds) s after \(starts) starts")
    #expect(starts <= 10)
  }

  @Test func `a restart that is as dear as was learnt is tried so seldom that it hardly shows`() {
    var linger = LearnedLinger()
    live(Array(repeating: 600, count: 4), with: &linger)
    // Until the pattern is learnt.
    live(Array(repeating: 12, count: 40), with: &linger)
    var hasTried = false
    var cost = 0.0
    for _ in 0..<1000 {
      let decision = linger.decide(costs)
      if decision.ground == .trial {
        hasTried = true
        #expect(decision.seconds == 0 && decision.reason.contains("a restart is tried"))
      }
      cost += live([12], with: &linger)
    }
    #expect(hasTried)
    #expect(cost <= 1.06 * costs.watts * 12 * 1000, "\(cost) J")
  }

  @Test func `a restart that is tried is over with the start, though it was for a fix on a schedule`() {
    var linger = LearnedLinger()
    live(Array(repeating: 600, count: 4), with: &linger)
    for _ in 0..<1000 where linger.decide(costs).ground != .trial { live([12], with: &linger) }
    #expect(linger.decide(costs).ground == .trial)
    let book = PowerBook(of: "ublox on /dev/gps", systemTime: { 0 })
    book.learn { $0 = linger }
    let start = MonotonicInstant(nanoseconds: 0)
    var lessons = PowerLessons()
    lessons.released(at: start, 0, restWatts: 0, book)
    lessons.required(at: start + .seconds(60), 0)
    // A scheduled client is no visitor.
    lessons.forgetGap()
    lessons.tracking(at: start + .seconds(88), 2.8 / 3.6, restWatts: 0, book)
    let decision = book.learned.decide(costs)
    #expect(decision.ground == .learnt && decision.seconds >= 12, "\(decision)")
  }

  @Test func `where sleeping saves nothing that is said`() {
    let decision = LearnedLinger().decide(.init(watts: 0, assumedJoules: 1))
    #expect(decision.ground == .nothingToSave && decision.reason.contains("save nothing"))
  }

  /// A supply monitor's noise in a device's power at rest.
  @Test func `where sleeping saves next to nothing it lingers for a time that there is`() {
    let noise = LearnedLinger.Costs(watts: 5e-20, assumedJoules: 0)
    var linger = LearnedLinger()
    linger.restarts.started(after: 60, joules: 2.8, seconds: 28)
    #expect(linger.decide(noise).seconds == 7 * 86_400)
    for _ in 0..<20 { linger.visited(after: 600, lingered: nil, noise) }
    #expect(linger.decide(noise).seconds <= 7 * 86_400 && linger.decide(noise).breakEvenSeconds == 7 * 86_400)
  }
}
