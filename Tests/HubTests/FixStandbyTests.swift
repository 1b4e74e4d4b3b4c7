import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// Whether the receiver is off or stays on between two fixes.
extension FixPlannerTests {
  @Test func `a fix every quarter of an hour takes less than a twentieth of the energy of staying on`() async throws {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe(
      "log[7]", Schedule(every: .seconds(900), accuracyMetres: 10, within: .seconds(45)), got)
    let began = bench.clock.now
    bench.pass(3 * 3600)
    #expect(got.values.count >= 12 && got.values.allSatisfy(\.fix.isMet))
    let always = 360 * bench.clock.now.seconds(since: began) / 3600
    #expect(bench.status.energyMilliwattHours * 20 < always, "\(bench.status.energyMilliwattHours) of \(always) mWh")
    lease.cancel()
    await bench.end()
  }

  @Test func `if a client leaves shortly before the next wake, the receiver stays on for it`() async throws {
    let bench = try Bench(lingerSeconds: 0)
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Self.minute, got)
    bench.pass(300)
    let wake = try #require(bench.status.schedules.first?.wake)
    let (rises, count) = (bench.rises, got.values.count)
    bench.pass(Int((wake - bench.clock.now).inSeconds) - 12)
    let viewer = bench.hub.powerLease(of: "gps").subscribe(
      as: "web 127.0.0.1:4000", receiveValue: { _ in })
    bench.settle()
    bench.pass(10)
    viewer.cancel()
    bench.settle()
    let status = bench.status
    #expect(status.power == .lingering && status.reason.contains("a restart costs as much as"), "\(status.reason)")
    bench.pass(15)
    #expect(bench.rises == rises + 1 && !bench.isHigh)
    #expect(got.values.count == count + 1 && got.values.last?.fix.isMet == true)
    lease.cancel()
    await bench.end()
  }

  @Test func `a receiver stays on if a restart costs as much as staying on`() async throws {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Schedule(every: .seconds(5), accuracyMetres: 10, within: .seconds(45)), got)
    bench.pass(60)
    // The cost of a restart is known from the first restart on.
    #expect(bench.rises == 2 && got.values.count >= 8, "\(bench.rises), \(got.values.count)")
    lease.cancel()
    bench.settle()
    await bench.end()
  }

  /// A start takes two seconds here, and took fourteen at the previous place.
  @Test
  func `a receiver that stays on because starts are expensive tries one now and then, and sleeps once they are cheap`()
    async throws
  {
    let bench = try Bench(lingerSeconds: 0)
    let usageHistory = try #require(bench.hub.fixHistory)
    usageHistory.learn { $0.restarts.started(after: 60, joules: 0.36 * 14, seconds: 14) }
    usageHistory.learnAcquisitions { for _ in 0..<3 { $0.add(3, to: .init(of: 10), after: .hot) } }
    bench.seconds = 1
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Schedule(every: .seconds(12), accuracyMetres: 10, within: .seconds(45)), got)
    bench.pass(840)
    #expect(bench.rises == 1, "\(bench.rises)")
    bench.pass(240)
    #expect(bench.rises >= 8, "\(bench.rises)")
    // The trial restarts make no client's fix late.
    let late = got.values.dropFirst().filter { $0.at - $0.fix.due > .seconds(1) || !$0.fix.isMet }
    #expect(late.isEmpty, "\(late.map { ($0.at - $0.fix.due, $0.fix.isMet) })")
    lease.cancel()
    bench.settle()
    await bench.end()
  }

  /// An ephemeris is valid for four hours, and takes half a minute to receive.
  /// A receiver whose starts take longer has kept none.
  @Test(arguments: [
    (minutes: 20, seconds: 3600 * 5, start: 4), (minutes: 20, seconds: 3600 * 5, start: 20),
    (minutes: 300, seconds: 3600 * 16, start: 4),
  ])
  func `a receiver stays on every two hours to receive all ephemerides, if the next fix benefits from them`(
    _ rate: (minutes: Int64, seconds: Int, start: Int)
  ) async throws {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe(
      "log[7]", Schedule(every: .seconds(60 * rate.minutes), accuracyMetres: 10, within: .seconds(45)), got)
    bench.seconds = rate.start
    // Each observed span contains one wake.
    bench.pass(100)
    let due = try #require(bench.status.schedules.first?.due)
    bench.pass(Int((due - bench.clock.now).inSeconds) + 200)
    var stays: [Double] = []
    for _ in 0..<rate.seconds / Int(60 * rate.minutes) {
      let onTime = bench.status.onTime
      bench.pass(Int(60 * rate.minutes))
      stays.append((bench.status.onTime - onTime).inSeconds)
    }
    let long = stays.indices.filter { stays[$0] > 36 }
    if rate.start == 4 { #expect(stays.allSatisfy { $0 < 15 || (36..<46).contains($0) }, "\(stays)") }
    if rate.minutes == 20, rate.start == 4 {
      #expect(long.count == 2 && long.last.map { $0 - (long.first ?? 0) } == 7, "\(stays)")
    } else {
      #expect(long.isEmpty, "\(stays)")
    }
    // The clients that benefit are charged for it.
    let status = bench.status
    let log = status.energyByClient.first { $0.payer == "log" }?.milliwattHours ?? 0
    #expect(log > 0.98 * status.energyMilliwattHours, "\(status.energyByClient)")
    lease.cancel()
    bench.settle()
    await bench.end()
  }

  @Test func `a receiver without an observed restart is off between fixes that follow closely`() async throws {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Schedule(every: .seconds(20), accuracyMetres: 10, within: .seconds(15)), got)
    bench.pass(200)
    #expect(bench.rises >= 8 && got.values.count >= 9, "\(bench.rises), \(got.values.count)")
    lease.cancel()
    bench.settle()
    await bench.end()
  }

  @Test func `if the client leaves while the receiver stays on for the next fix, the receiver is switched off`()
    async throws
  {
    let bench = try Bench()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Schedule(every: .seconds(5), accuracyMetres: 10, within: .seconds(45)), got)
    bench.pass(60)
    for _ in 0..<5 where bench.status.power != .lingering { bench.pass(1) }
    #expect(bench.status.power == .lingering, "\(bench.status)")
    lease.cancel()
    #expect(bench.hub.waits { bench.status.power == .off }, "\(bench.status)")
    #expect(!bench.isHigh)
    await bench.end()
  }
}
