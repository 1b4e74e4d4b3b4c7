import Fusion
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// Clients whose fixes come from the same wake.
extension FixPlannerTests {
  @Test func `clients that are due together share a wake, whenever they subscribed`() async throws {
    let bench = try Bench()
    let (one, other) = (Recorder<Bench.Got>(), Recorder<Bench.Got>())
    let first = bench.subscribe("log[7]", Self.minute, one)
    bench.pass(260)
    let second = bench.subscribe(
      "web 127.0.0.1:4000", Schedule(every: .seconds(120), accuracyMetres: 20, within: .seconds(30)), other)
    bench.pass(40)
    let (rises, ones, others) = (bench.rises, one.values.count, other.values.count)
    #expect(others >= 1)
    bench.pass(600)
    #expect(bench.rises - rises == 10, "\(bench.rises - rises) wakes")
    #expect(one.values.count - ones == 10 && other.values.count - others == 5)
    // Each client is charged its share.
    let energyByClient = bench.status.energyByClient
    #expect(
      energyByClient.contains { $0.payer == "log" } && energyByClient.contains { $0.payer == "web 127.0.0.1" },
      "\(energyByClient)")
    second.cancel()
    first.cancel()
    await bench.end()
  }

  @Test func `the duration of starts is learned for the receiver that gives the fixes`() async throws {
    let bench = try Bench(isSecond: true)
    let lease = bench.subscribe("log[7]", Self.minute, Recorder())
    bench.pass(300)
    let learnt = bench.hub.devices.map { device in
      device.idleTimeout?.explanation.contains { $0.hasPrefix("for scheduled fixes") } ?? false
    }
    #expect(learnt == [false, true])
    lease.cancel()
    await bench.end()
  }

  @Test func `when many clients share a wake, the receiver's list of holders changes once for all of them`()
    async throws
  {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let leases = (0..<50).map { bench.subscribe("log[\($0)]", Self.minute, got) }
    bench.pass(240)
    while bench.isHigh { bench.pass(1) }
    let changes = Recorder<DeviceStatus>()
    let lifetime = Lifetime()
    for monitor in bench.hub.monitors {
      monitor.changes.subscribe(as: "test", receiveValue: { changes.append($0) }).store(in: lifetime)
    }
    let (known, fixes, rises) = (changes.values.count, got.values.count, bench.rises)
    while !bench.isHigh { bench.pass(1) }
    #expect(bench.status.holders == (0..<50).map { "log[\($0)] (position)" })
    while bench.isHigh { bench.pass(1) }
    bench.pass(5)
    #expect(bench.rises == rises + 1 && got.values.count == fixes + 50)
    #expect(changes.values.count - known < 20, "\(changes.values.count - known) changes")
    lifetime.end()
    for lease in leases { lease.cancel() }
    await bench.end()
  }

  @Test func `clients that share a wake share the energy of its start`() async throws {
    let bench = try Bench()
    let first = bench.subscribe("log[7]", Self.minute, Recorder())
    let second = bench.subscribe("web 127.0.0.1:4000", Self.minute, Recorder())
    bench.pass(120)
    func clientEnergy(_ payer: String) -> Double {
      bench.status.energyByClient.first { $0.payer == payer }?.milliwattHours ?? 0
    }
    let (log, web) = (clientEnergy("log"), clientEnergy("web 127.0.0.1"))
    bench.pass(600)
    let (ofLog, ofWeb) = (clientEnergy("log") - log, clientEnergy("web 127.0.0.1") - web)
    #expect(ofLog > 0 && abs(ofWeb / ofLog - 1) < 0.01, "\(ofLog) and \(ofWeb) mWh")
    second.cancel()
    first.cancel()
    await bench.end()
  }

  @Test func `a request that changes during a wake gets no value of that wake when its next fix fails`() async throws {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let schedule = MutableProperty(Schedule(every: .seconds(600), accuracyMetres: 1, within: .seconds(45)))
    let lease = bench.hub.fixes(on: schedule.readOnly).subscribe(
      as: "log[7]", receiveValue: { [clock = bench.clock] in got.append(Bench.Got(fix: $0, at: clock.now)) })
    bench.settle()
    bench.pass(20)
    #expect(got.values.isEmpty && bench.status.schedules.first?.reason.hasPrefix("awake, at ") == true)
    // From here on the receiver finds no fix, as underground.
    bench.seconds = 1000
    schedule.value = Schedule(every: .seconds(1200), accuracyMetres: 1, within: .seconds(45))
    bench.settle()
    bench.pass(1300)
    let none = try #require(got.values.first)
    #expect(got.values.count == 1 && !none.fix.isMet && none.fix.state.position == nil)
    lease.cancel()
    bench.settle()
    await bench.end()
  }
}
