import Fusion
import Guarding
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// Fixes that do not come in time, and receivers that stay away.
extension FixPlannerTests {
  @Test func `when the time for a fix is over, the client gets the accuracy that was reached, or no position`()
    async throws
  {
    let bench = try Bench()
    bench.bestDilution = 2.5
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Schedule(every: .seconds(300), accuracyMetres: 10, within: .seconds(20)), got)
    bench.pass(19)
    #expect(got.values.isEmpty && bench.isHigh)
    bench.pass(2)
    let poor = try #require(got.values.first)
    #expect(!poor.fix.isMet && abs((poor.fix.radiusMetres ?? 0) - 30.6) < 0.5 && !bench.isHigh, "\(poor)")
    // From here on the receiver finds no fix, as underground.
    bench.seconds = 1000
    bench.pass(320)
    let none = try #require(got.values.last)
    #expect(got.values.count >= 2 && !none.fix.isMet && none.fix.state.position == nil && none.fix.radiusMetres == nil)
    #expect(!bench.isHigh)
    lease.cancel()
    await bench.end()
  }

  @Test func `a missing receiver is given up in time, and tried again for the next fix`() async throws {
    let bench = try Bench()
    bench.wire.state.withLock { $0.isMissing = true }
    let got = Recorder<Bench.Got>()
    let lease = bench.hub.fixes(on: Schedule(every: .seconds(300), accuracyMetres: 10, within: .seconds(20))).subscribe(
      as: "log[7]", receiveValue: { [clock = bench.clock] in got.append(.init(fix: $0, at: clock.now)) })
    #expect(bench.hub.waits { bench.status.power == .failed })
    bench.clock.run(until: bench.clock.now + .seconds(21))
    let none = try #require(await got.first(1).first)
    #expect(!none.fix.isMet && none.fix.state.position == nil)
    // If the reader's thread was in the middle of an attempt, the supply may stay on for the idle timeout.
    func isAtRest() -> Bool { !bench.isHigh && bench.status.holders.isEmpty }
    #expect(bench.hub.waits { isAtRest() || bench.status.power == .lingering }, "\(bench.status)")
    bench.clock.advance(by: .seconds(20))
    #expect(bench.hub.waits { isAtRest() }, "\(bench.status)")
    bench.wire.state.withLock { $0.isMissing = false }
    bench.settle()
    bench.pass(320)
    #expect(got.values.last?.fix.isMet == true, "\(got.values.count)")
    lease.cancel()
    await bench.end()
  }

  @Test func `the line of a receiver that stays away is switched once per fix, and not once per attempt`() async throws
  {
    let bench = try Bench()
    bench.wire.state.withLock { $0.isMissing = true }
    let got = Recorder<Bench.Got>()
    let lease = bench.hub.fixes(on: Self.minute).subscribe(
      as: "log[7]", receiveValue: { [clock = bench.clock] in got.append(.init(fix: $0, at: clock.now)) })
    func pass(_ seconds: Int) async {
      for _ in 0..<seconds {
        #expect(
          bench.hub.waits {
            !bench.isHigh && [.idle, .failed].contains(bench.hub.receiver?.device.source.activity.value.phase)
          })
        // While a fix is due, there is not only the plan's timer but also that of the next try, which is set after it
        // has failed.
        if bench.status.schedules.first?.reason.hasPrefix("awake") == true { await bench.clock.sleepers(2) }
        bench.clock.run(until: bench.clock.now + .seconds(1))
      }
    }
    // In the beginning there are as many attempts as for a client that stays.
    await pass(120)
    #expect(bench.rises > 4)
    let (rises, start) = (bench.rises, bench.clock.now)
    await pass(300)
    let fixes = got.values.count { $0.fix.due > start }
    #expect((4...5).contains(fixes), "\(fixes) fixes")
    #expect((4...6).contains(bench.rises - rises), "\(bench.rises - rises) rises")
    // The receiver is found as soon as it is back.
    bench.wire.state.withLock { $0.isMissing = false }
    bench.settle()
    bench.pass(120)
    #expect(got.values.last?.fix.isMet == true)
    lease.cancel()
    await bench.end()
  }
}
