import Fusion
import Glibc
import Guarding
import MonotonicTime
import NMEA
import Publishing
import TestSupport
import Testing

@testable import Hub

/// Scheduled fixes of a receiver whose first fix is a poor one, with a clock that the test moves.
@Suite(.timeLimit(.minutes(10)))
struct FixPlannerTests {
  private static let minute = Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45))

  private typealias Bench = ScheduleBench

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

  /// A fence of 40 m around an anchor, and its reports.
  private static func anchorWatch(_ bench: Bench) throws -> (FenceMonitor, Recorder<FenceStatus>) {
    let anchor = Coordinate(latitudeDegrees: 52 + 31.0 / 60, longitudeDegrees: 13 + 22.0 / 60)
    let said = Recorder<FenceStatus>()
    let fenceMonitor = FenceMonitor(
      FenceSettings(name: "anchor", area: try FenceArea(circleAbout: anchor, radiusMetres: 40)), clock: bench.clock,
      report: { said.append($0) })
    fenceMonitor.begin(on: bench.hub)
    bench.settle()
    return (fenceMonitor, said)
  }

  @Test func `an anchor watch takes a tenth of the energy of staying on, and notices a drag within its grace`()
    async throws
  {
    let bench = try Bench()
    // The receiver starts as quickly as present receivers with a hot start.
    (bench.seconds, bench.bestDilution) = (1, 0.3)
    func swing(_ at: MonotonicInstant) -> SIMD2<Double> {
      let angle = at.seconds(since: MonotonicInstant(nanoseconds: 0)) / 300
      return SIMD2(15 * cos(angle), 15 * sin(angle))
    }
    bench.metres = swing
    let (fenceMonitor, said) = try Self.anchorWatch(bench)
    bench.pass(600)
    #expect(said.values.map(\.event) == [.found] && fenceMonitor.status.state == .inside)
    let status = bench.status
    let schedule = try #require(status.schedules.first)
    #expect(schedule.holder == "fence anchor" && (30...60).contains(schedule.schedule.every.inSeconds), "\(schedule)")
    let (began, onTime) = (bench.clock.now, status.onTime)
    bench.pass(3600)
    let share = (bench.status.onTime - onTime).inSeconds / bench.clock.now.seconds(since: began)
    #expect(share < 0.1, "\(share)")
    #expect(said.values.count == 1)
    #expect((bench.status.energyByClient.first { $0.payer == "fence anchor" }?.milliwattHours ?? 0) > 0)
    // A reload does not end the watch.
    try await bench.reload()
    let dragsAt = bench.clock.now
    bench.metres = { at in swing(dragsAt) * (15 + 0.5 * at.seconds(since: dragsAt)) / 15 }
    bench.pass(50)
    #expect(said.values.count == 1)
    bench.pass(20)
    let left = try #require(said.values.last)
    #expect(left.event == .leave && left.state == .outside && (left.metresBeyond ?? 0) > 0, "\(said.values)")
    fenceMonitor.end()
    bench.settle()
    #expect(!bench.isHigh && bench.status.schedules.isEmpty)
    await bench.end()
  }

  @Test func `an anchor watch reports that it has no fixes, and when it has fixes again`() async throws {
    let bench = try Bench()
    let (fenceMonitor, said) = try Self.anchorWatch(bench)
    bench.pass(200)
    #expect(said.values.map(\.event) == [.found])
    // From here on the receiver finds no fix, as under a roof.
    bench.seconds = 10_000
    bench.pass(180)
    #expect(said.values.map(\.event) == [.found, .lost] && fenceMonitor.status.state == .unknown)
    let onTime = bench.status.onTime
    bench.pass(3600)
    #expect(said.values.count == 2)
    // The receiver keeps trying, but not all the time.
    let share = (bench.status.onTime - onTime).inSeconds / 3600
    #expect(share > 0.05 && share < 0.3, "\(share)")
    bench.seconds = 4
    bench.pass(700)
    #expect(said.values.map(\.event) == [.found, .lost, .found] && fenceMonitor.status.state == .inside)
    fenceMonitor.end()
    bench.settle()
    await bench.end()
  }
}
