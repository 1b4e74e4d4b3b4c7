import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// A new board file may change a device's idle timeout, stated power, budget and minimum time on without
/// switching any power.
@Suite(.timeLimit(.minutes(10)))
struct ReloadedPolicyTests {
  private static func visit(_ bench: ScheduleBench) throws -> Subscription {
    let lease = bench.hub.powerLease(of: "gps").subscribe(as: "watch[1]", receiveValue: { _ in })
    bench.settle()
    return lease
  }

  @Test func `on a reload, a held device stays on and gets the new file's idle timeout and budget`() async throws {
    let bench = try ScheduleBench(lingerSeconds: 20)
    let lease = try Self.visit(bench)
    bench.pass(10)
    for (idleTimeout, power, perDay) in [
      ("lingerSeconds: 60", "", nil), ("linger: 'learned'", "milliwattHoursPerDay: 240", 240),
      ("lingerSeconds: 30", "milliwattHoursPerDay: 1, whenShort: { everySeconds: 300 }", 1),
      ("lingerSeconds: 40", "", nil),
    ] as [(String, String, Double?)] {
      bench.write(idleTimeout: idleTimeout, power: power)
      try await bench.reload()
      let status = bench.status
      #expect(bench.isHigh && bench.rises == 1 && status.wakes == 1 && status.holders == ["watch[1]"], "\(status)")
      #expect(status.idleTimeout?.isLearned == idleTimeout.contains("learned"))
      #expect(status.budget?.milliwattHoursPerDay == perDay)
      // In ten seconds the device has drawn 1 mWh.
      #expect((status.warning?.hasPrefix("its budget of 1 mWh a day is short") == true) == (perDay == 1))
      bench.pass(1)
    }
    lease.cancel()
    bench.settle()
    #expect(bench.status.power == .lingering)
    bench.pass(39)
    #expect(bench.isHigh && bench.rises == 1)
    bench.pass(2)
    #expect(!bench.isHigh && bench.status.wakes == 1)
    await bench.end()
  }

  @Test func `on a reload, a held device stays on and its power is counted as the new file states it`() async throws {
    let bench = try ScheduleBench(lingerSeconds: 20)
    let lease = try Self.visit(bench)
    bench.pass(10)
    var drawn = 360 * 10.0 / 3600
    for (draw, milliwatts) in [
      ("currentMilliamperes: 200, supplyVolts: 3.6", 720), ("currentMilliamperes: 200, supplyVolts: 5", 1000),
      ("currentMilliamperes: 100, standbyMilliamperes: 3, supplyVolts: 5", 500),
    ] as [(String, Double)] {
      bench.write(draw: draw)
      try await bench.reload()
      let status = bench.status
      #expect(bench.isHigh && bench.rises == 1 && status.wakes == 1 && status.holders == ["watch[1]"], "\(status)")
      #expect(status.milliwatts == milliwatts)
      #expect(abs(status.energyMilliwattHours - drawn) < 1e-6, "\(drawn)")
      bench.pass(10)
      drawn += milliwatts * 10 / 3600
      #expect(abs(bench.status.energyMilliwattHours - drawn) < 1e-6, "\(drawn)")
    }
    lease.cancel()
    bench.settle()
    bench.pass(21)
    #expect(!bench.isHigh && bench.rises == 1 && bench.status.milliwatts == 0)
    await bench.end()
  }

  @Test func `on a reload, the new file's minimum time on applies, also during an idle timeout`() async throws {
    let bench = try ScheduleBench(lingerSeconds: 20)
    let began = bench.clock.now
    let lease = try Self.visit(bench)
    bench.pass(30)
    bench.write(power: "minimumOnSeconds: 120")
    try await bench.reload()
    #expect(bench.isHigh && bench.rises == 1 && bench.status.holders == ["watch[1]"])
    lease.cancel()
    bench.settle()
    #expect(bench.status.lingersUntil == began + .seconds(120))
    bench.pass(10)
    // The last client left ten seconds ago, 30 seconds after the device had come on.
    for (idleTimeout, least, until) in [(20, 90, 90), (70, 0, 100), (5, 80, 80)] {
      bench.write(idleTimeout: "lingerSeconds: \(idleTimeout)", power: "minimumOnSeconds: \(least)")
      try await bench.reload()
      let status = bench.status
      #expect(bench.isHigh && status.power == .lingering, "\(status)")
      #expect(status.lingersUntil == began + .seconds(Int64(until)), "\(status)")
    }
    bench.write(power: "minimumOnSeconds: 0")
    try await bench.reload()
    #expect(!bench.isHigh && bench.rises == 1 && bench.status.power == .off)
    await bench.end()
  }

  @Test func `on a reload, a running idle timeout still counts from when the last client left`() async throws {
    let bench = try ScheduleBench(lingerSeconds: 20)
    let lease = try Self.visit(bench)
    bench.pass(5)
    let left = bench.clock.now
    lease.cancel()
    bench.settle()
    bench.pass(10)
    for seconds in [60, 15] {
      bench.write(idleTimeout: "lingerSeconds: \(seconds)")
      try await bench.reload()
      let status = bench.status
      #expect(bench.isHigh && status.power == .lingering, "\(status)")
      #expect(status.lingersUntil == left + .seconds(Int64(seconds)))
      #expect(status.reason == "the board file now sets lingerSeconds: \(seconds)", "\(status.reason)")
    }
    bench.pass(4)
    #expect(bench.isHigh)
    bench.pass(2)
    #expect(!bench.isHigh && bench.rises == 1)
    let next = try Self.visit(bench)
    bench.pass(5)
    next.cancel()
    bench.settle()
    bench.pass(10)
    #expect(bench.isHigh && bench.rises == 2)
    bench.write(idleTimeout: "lingerSeconds: 5")
    try await bench.reload()
    #expect(!bench.isHigh && bench.status.power == .off && bench.status.wakes == 2)
    await bench.end()
  }

  @Test func `after a reload, scheduled fixes come as the new budget allows`() async throws {
    let bench = try ScheduleBench()
    let got = Recorder<ScheduleBench.Got>()
    let lease = bench.subscribe("log[7]", Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45)), got)
    bench.pass(200)
    #expect(bench.status.schedules.first?.degraded == nil)
    bench.write(power: "milliwattHoursPerDay: 1, whenShort: { everySeconds: 300 }")
    try await bench.reload()
    bench.pass(120)
    #expect(bench.status.schedules.first?.degraded?.every == .seconds(300))
    bench.write(power: "")
    try await bench.reload()
    bench.pass(320)
    #expect(bench.status.schedules.first.map { $0.degraded == nil } == true)
    lease.cancel()
    bench.settle()
    await bench.end()
  }

  @Test func `after the hub has shut down, a board file puts nothing into service`() async throws {
    let bench = try ScheduleBench(lingerSeconds: 0)
    let lease = try Self.visit(bench)
    bench.hub.shutDown()
    await bench.hub.isOff()
    let text = """
      { name: 'late', devices: { gps: { driver: 'nmea', port: '/dev/gps', speed: 4800,
          power: { switch: 'gpio', chip: 'c', line: 'l' } } } }
      """
    bench.hub.exchangeBoard(for: try Board(json5: Array(text.utf8), file: "late"))
    #expect(bench.hub.board.name == "x")
    #expect(!bench.isHigh && bench.rises == 1)
    lease.cancel()
  }
}
