import Fusion
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// Scheduled fixes of a receiver whose first fix is a poor one, with a clock that the test moves.
@Suite(.timeLimit(.minutes(10)))
struct FixPlannerTests {
  static let minute = Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45))

  typealias Bench = ScheduleBench

  @Test func `after ten starts, a fix comes at its time and the receiver is off in between`() async throws {
    var chance = SeededRandom()
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Self.minute, got)
    for _ in 0..<12 {
      bench.seconds = .random(in: 2...4, using: &chance)
      bench.pass(60)
    }
    let (learnt, rises, onTime) = (got.values.count, bench.rises, bench.status.onTime)
    for _ in 0..<20 {
      bench.seconds = .random(in: 2...4, using: &chance)
      bench.pass(60)
    }
    let fixes = got.values.dropFirst(learnt)
    #expect(fixes.count == 20 && bench.rises == rises + 20, "\(fixes.count) fixes, \(bench.rises - rises) wakes")
    let punctual = fixes.count { ($0.at - $0.fix.due).inSeconds <= 1 && $0.fix.isMet }
    #expect(punctual >= 19, "\(punctual)")
    for one in fixes where one.fix.isMet {
      let position = try #require(one.fix.state.position)
      let radius = try #require(one.fix.radiusMetres)
      // The fix is not the first one, and belongs to this wake.
      #expect(radius <= 10 && abs(radius - 7.3) < 0.2 && one.at - position.at < .seconds(10), "\(radius)")
      #expect(one.fix.state.at >= one.at)
    }
    // The longest start to a good fix takes six seconds. The other two are the margin of the learned lead time.
    #expect((bench.status.onTime - onTime).inSeconds < 20 * 8)
    // The receiver is switched off at once, whatever the board file's idle timeout, and the hub learns no gap from
    // this.
    #expect(bench.status.idleTimeout?.learned.gapCount == 0)
    let status = bench.status
    #expect(
      Set(status.energyByClient.map(\.payer)).isSubset(of: ["log", EnergyByClient.idleTimeout]),
      "\(status.energyByClient)")
    #expect(
      (status.energyByClient.first { $0.payer == "log" }?.milliwattHours ?? 0) > 0.9 * status.energyMilliwattHours)
    #expect(
      status.idleTimeout?.explanation.contains { $0.hasPrefix("for scheduled fixes hot starts took ") }
        ?? false)
    let report = try #require(status.schedules.first)
    #expect(
      report.holder == "log[7]" && report.reason.contains("the last 10 hot starts took"), "\(report.reason)")
    lease.cancel()
    #expect(bench.status.schedules.isEmpty)
    await bench.end()
  }

  @Test func `learned values survive a restart, and files of earlier versions are read`() async throws {
    let bench = try Bench()
    let lease = bench.subscribe("log[7]", Self.minute, Recorder())
    bench.pass(240)
    lease.cancel()
    await bench.end()
    let text = String(decoding: bench.machine.usageHistories.text, as: UTF8.self)
    #expect(text.contains("\"acquisitions\": {\"hot\": {\"10\": ["), "\(text)")
    let next = try Bench(restoring: Array(text.utf8))
    let again = next.subscribe("log[8]", Self.minute, Recorder())
    next.pass(10)
    let report = try #require(next.status.schedules.first)
    let wake = try #require(report.wake)
    #expect((report.due - wake).inSeconds < 9, "\(report)")
    again.cancel()
    await next.end()
    let lines = text.split(separator: "\n").filter { !$0.contains("\"acquisitions\"") }
    let old = try Bench(restoring: Array(lines.joined(separator: "\n").utf8))
    #expect(old.hub.monitors[0].usageHistory.learned.restarts[.hot] != nil)
    #expect(old.hub.monitors[0].usageHistory.acquisitions == AcquisitionTimes())
    await old.end()
  }

  @Test func `a client that leaves during a wake leaves no device on and no timer set`() async throws {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Self.minute, got)
    bench.pass(3)
    #expect(bench.isHigh)
    lease.cancel()
    bench.settle()
    #expect(!bench.isHigh && bench.status.schedules.isEmpty)
    bench.pass(600)
    #expect(bench.rises == 1 && got.values.isEmpty)
    await bench.end()
  }

  @Test func `a reload changes the time of no fix, neither between wakes nor during one`() async throws {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Self.minute, got)
    bench.pass(300)
    let (rises, count) = (bench.rises, got.values.count)
    try await bench.reload()
    #expect(bench.rises == rises && !bench.isHigh)
    while !bench.isHigh { bench.pass(1) }
    bench.pass(2)
    try await bench.reload()
    #expect(bench.isHigh && bench.rises == rises + 1)
    bench.pass(60)
    let fix = try #require(got.values.dropFirst(count).first)
    #expect(fix.fix.isMet && (fix.at - fix.fix.due).inSeconds <= 1)
    #expect(bench.status.holders.allSatisfy { $0 == "log[7] (position)" })
    lease.cancel()
    await bench.end()
  }

  @Test func `when the hub ends, subscriptions to fixes end and the line goes low`() async throws {
    let bench = try Bench()
    let ends = Recorder<Bool>()
    let lease = bench.hub.fixes(on: Self.minute).subscribe(
      as: "log[7]", receiveValue: { _ in }, receiveCompletion: { _ in ends.append(true) })
    bench.settle()
    bench.pass(2)
    #expect(bench.isHigh)
    await bench.end()
    await ends.first(1)
    // The subscription of a later client ends at once.
    let late = bench.hub.fixes(on: Self.minute).subscribe(
      as: "log[8]", receiveValue: { _ in }, receiveCompletion: { _ in ends.append(true) })
    await ends.first(2)
    #expect(!bench.isHigh)
    late.cancel()
    lease.cancel()
  }

  @Test func `a jump of the clock makes one fix late, and the next one comes at its time`() async throws {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Self.minute, got)
    bench.pass(300)
    let count = got.values.count
    bench.clock.advance(by: .seconds(5000))
    bench.settle()
    bench.pass(130)
    let fixes = got.values.dropFirst(count)
    // One fix is long overdue, and then there is one a minute.
    #expect((2...4).contains(fixes.count), "\(fixes.count)")
    #expect(fixes.dropFirst().allSatisfy { $0.fix.isMet && ($0.at - $0.fix.due).inSeconds <= 1 })
    lease.cancel()
    await bench.end()
  }

  @Test func `while another client keeps the receiver awake, the fix is a new one`() async throws {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Self.minute, got)
    bench.pass(240)
    let viewer = bench.hub.powerLease(of: "gps").subscribe(
      as: "web 127.0.0.1:4000", receiveValue: { _ in })
    bench.settle()
    let count = got.values.count
    bench.pass(180)
    let fixes = got.values.dropFirst(count)
    #expect(fixes.count == 3 && fixes.allSatisfy { $0.fix.isMet })
    for one in fixes { #expect(one.at - (one.fix.state.position?.at ?? one.fix.due + .seconds(-99)) <= .seconds(2)) }
    viewer.cancel()
    lease.cancel()
    await bench.end()
  }
}
