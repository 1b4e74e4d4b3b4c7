import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// A receiver whose antenna is moved, so that the learned costs of its starts are outdated.
@Suite(.timeLimit(.minutes(10)))
struct ChangedStartsTests {
  private typealias Bench = ScheduleBench

  private static let schedule = Schedule(every: .seconds(120), accuracyMetres: 10, within: .seconds(45))

  /// The hub's forecast of the next start, and the measured last starts.
  private struct Learnt {
    var leadSeconds: Double
    var restartSeconds: Double
    var restartJoules: Double
  }

  /// Starts the receiver this number of times with the given time to its first fix. After each start it sleeps.
  private func start(_ bench: Bench, _ count: Int, seconds: Int) throws -> Learnt {
    bench.seconds = seconds
    // The first start may have begun.
    let rises = bench.rises - (bench.isHigh ? 1 : 0)
    for _ in 0..<count {
      for _ in 0..<240 where !bench.isHigh { bench.pass(1) }
      for _ in 0..<240 where bench.isHigh { bench.pass(1) }
    }
    #expect(bench.rises == rises + count && !bench.isHigh)
    // A fix that came early is held until it is due.
    for _ in 0..<60 where bench.status.schedules.first?.wake == nil { bench.pass(1) }
    let status = bench.status
    let report = try #require(status.schedules.first)
    let wake = try #require(report.wake)
    let restart = try #require(status.idleTimeout?.learned.restarts[.hot])
    return Learnt(
      leadSeconds: (report.due - wake).inSeconds, restartSeconds: restart.seconds, restartJoules: restart.joules)
  }

  @Test func `the hub notices within ten starts that an antenna was moved indoors, and when it is moved back`()
    async throws
  {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Self.schedule, got)
    // The first of these starts does not follow a sleep.
    let quick = try start(bench, 21, seconds: 3)
    // Two seconds after its first fix, the receiver has one that is as accurate as requested.
    #expect((5.0...8).contains(quick.leadSeconds) && (2.5...5).contains(quick.restartSeconds), "\(quick)")

    let fixes = got.values.count
    let slow = try start(bench, 10, seconds: 30)
    #expect((32.0...36).contains(slow.leadSeconds) && (29.5...32).contains(slow.restartSeconds), "\(slow)")
    // The power is 360 mW.
    #expect(abs(slow.restartJoules / (0.36 * slow.restartSeconds) - 1) < 0.05, "\(slow)")
    // The first fixes are late. Once the hub has learned the new duration, none is.
    let indoors = Array(got.values.dropFirst(fixes))
    #expect(indoors.count == 10 && indoors.allSatisfy(\.fix.isMet), "\(indoors.count)")
    #expect(indoors.first.map { $0.at - $0.fix.due > .seconds(20) } == true)
    #expect(indoors.suffix(5).allSatisfy { $0.at - $0.fix.due <= .seconds(2) })

    let again = try start(bench, 10, seconds: 3)
    #expect((5.0...8).contains(again.leadSeconds) && (2.5...5).contains(again.restartSeconds), "\(again)")
    #expect(abs(again.restartJoules / (0.36 * again.restartSeconds) - 1) < 0.05, "\(again)")
    // If the receiver is woken too early, its fix is not late.
    let back = Array(got.values.dropFirst(fixes + 10))
    #expect(back.count == 10 && back.allSatisfy { $0.fix.isMet && $0.at - $0.fix.due <= .seconds(2) })
    lease.cancel()
    bench.settle()
    await bench.end()
  }
}
