import Fusion
import MonotonicTime
import NMEA
import Publishing
import TestSupport
import Testing

@testable import Hub

/// A device's daily energy budget.
@Suite(.timeLimit(.minutes(10)))
struct EnergyBudgetTests {
  private static let hour = 3600.0
  private static let steps = [
    Degradation(accuracyMetres: 25), Degradation(every: .seconds(300)),
    Degradation(every: .seconds(900), accuracyMetres: 20),
  ]

  @Test func `unused energy is saved, and overuse is owed, up to a quarter of a day's energy`() {
    let budget = EnergyBudget(milliwattHoursPerDay: 24)
    var energyLog = EnergyLog()
    let start = 490_000 * EnergyBudgetTests.hour
    #expect(budget.left(energyLog, now: start) == 6)
    let payers = EnergyByClient.Payers(holders: ["log"])
    // Four milliwatt-hours are charged in an hour that provides one.
    energyLog.charge(4, to: payers, over: EnergyBudgetTests.hour, until: start + EnergyBudgetTests.hour)
    #expect(abs(budget.left(energyLog, now: start + EnergyBudgetTests.hour) - 3) < 1e-9)
    #expect(abs(budget.left(energyLog, now: start + 2.5 * EnergyBudgetTests.hour) - 4.5) < 1e-9)
    #expect(budget.left(energyLog, now: start + 24 * EnergyBudgetTests.hour) == 6)
    let next = start + 24 * EnergyBudgetTests.hour
    energyLog.charge(100, to: payers, over: 60, until: next + 60)
    #expect(abs(budget.left(energyLog, now: next + EnergyBudgetTests.hour) + 6) < 1e-9)
    #expect(abs(budget.left(energyLog, now: next + 7 * EnergyBudgetTests.hour)) < 1e-9)
    // If the clock is set back, energy that was drawn later does not count.
    #expect(budget.left(energyLog, now: start - EnergyBudgetTests.hour) == 6)
    for now in [0, -1e9, .infinity, .nan] { #expect(budget.left(energyLog, now: now) == 6) }
  }

  @Test func `the less energy is left, the more steps are taken, and a step is not undone at its own threshold`() {
    let budget = EnergyBudget(milliwattHoursPerDay: 32, steps: EnergyBudgetTests.steps)
    // The thresholds of the steps are two milliwatt-hours apart.
    #expect([8, 6, 5.9, 4, 3.9, 1.9, 0, -8].map { budget.stepCount(left: $0, taken: 0) } == [0, 0, 1, 1, 2, 3, 3, 3])
    #expect([5.9, 6.9, 7, 7.1, 3.9].map { budget.stepCount(left: $0, taken: 1) } == [1, 1, 1, 0, 2])
    #expect(budget.stepCount(left: 8, taken: 3) == 0)
    #expect(budget.degradation(0) == .none)
    #expect(budget.degradation(2) == Degradation(every: .seconds(300), accuracyMetres: 25))
    #expect(budget.degradation(3) == Degradation(every: .seconds(900), accuracyMetres: 25))
    #expect(EnergyBudget(milliwattHoursPerDay: 1).stepCount(left: -1, taken: 0) == 0)
  }

  @Test func `a degradation changes only requests that demand more, and never a fence's request`() {
    let degradation = Degradation(every: .seconds(300), accuracyMetres: 25)
    let asked = Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45))
    #expect(
      degradation.applied(to: asked) == Schedule(every: .seconds(300), accuracyMetres: 25, within: .seconds(45)))
    let modest = Schedule(every: .seconds(600), accuracyMetres: 50)
    #expect(degradation.applied(to: modest) == modest)
    let any = degradation.applied(to: Schedule(every: .seconds(60)))
    #expect(any == Schedule(every: .seconds(300)))
    var fence = asked
    fence.isDegradable = false
    #expect(degradation.applied(to: fence) == fence)
    #expect(
      Degradation.none.text == nil && degradation.text == "fixes come at most every 300 s, with an accuracy of 25 m")
  }

  /// A fix costs 0.7 mWh, so one fix a minute uses ten times the daily budget.
  @Test func `fixes come less often while the day's energy runs short, and as requested once there is enough`()
    async throws
  {
    let bench = try ScheduleBench(
      power: "milliwattHoursPerDay: 96, whenShort: [ { accuracyMetres: 60 }, { everySeconds: 300 } ]")
    let got = Recorder<ScheduleBench.Got>()
    let lease = bench.subscribe("log[7]", Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45)), got)
    let end = bench.clock.now + .seconds(3600)
    bench.pass(300)
    #expect(bench.status.warning == nil)
    #expect(got.values.allSatisfy { $0.fix.degraded == nil })
    while bench.status.budget?.stepCount == 0, bench.clock.now < end { bench.pass(60) }
    // The threshold of the first of two steps is two thirds of the savings.
    let left = try #require(bench.status.budget?.leftMilliwattHours)
    #expect(left < 16 && left > 14.5, "\(left)")
    let first = got.values.count
    bench.pass(300)
    #expect(bench.status.warning == "its budget of 96 mWh a day is short: fixes with an accuracy of 60 m are enough")
    let worse = got.values.dropFirst(first + 1)
    #expect(worse.count >= 4 && worse.allSatisfy { $0.fix.degraded?.accuracyMetres == 60 }, "\(worse.count)")
    // A fix states whether it is as accurate as requested, even if a worse one was accepted.
    #expect(worse.allSatisfy { $0.fix.isMet == (($0.fix.radiusMetres ?? 99) <= 10) })
    #expect(worse.allSatisfy { $0.fix.schedule.accuracyMetres == 10 })
    while bench.status.budget?.stepCount == 1, bench.clock.now < end { bench.pass(60) }
    let second = got.values.count
    bench.pass(3600)
    let slow = got.values.dropFirst(second + 1)
    #expect((10...12).contains(slow.count), "\(slow.count)")
    #expect(slow.allSatisfy { $0.fix.degraded?.every == .seconds(300) && $0.fix.schedule.every == .seconds(60) })
    #expect(bench.status.schedules.first?.degraded?.every == .seconds(300))
    // For a while no client requests anything.
    lease.cancel()
    bench.settle()
    bench.pass(6 * 3600)
    let again = Recorder<ScheduleBench.Got>()
    let next = bench.subscribe("log[8]", Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45)), again)
    bench.pass(300)
    #expect(again.values.dropFirst().allSatisfy { $0.fix.degraded == nil } && again.values.count >= 4)
    #expect(bench.status.warning == nil, "\(bench.status.warning ?? "")")
    next.cancel()
    bench.settle()
    await bench.end()
  }

  /// A minute of work uses a quarter of the daily budget, which is the most that can be saved.
  @Test func `a receiver that is held without a break uses up its budget, and this is reported until some is left`()
    async throws
  {
    let bench = try ScheduleBench(power: "milliwattHoursPerDay: 24, whenShort: { everySeconds: 300 }")
    let monitor = try #require(bench.hub.fixMonitor)
    let viewer = bench.hub.powerLease(of: "gps").subscribe(
      as: "web 127.0.0.1:4000", receiveValue: { _ in })
    bench.settle()
    bench.pass(10)
    #expect(monitor.changes.value.warning == nil && monitor.degradation == .none)
    bench.pass(50)
    let short = "its budget of 24 mWh a day is short: fixes come at most every 300 s"
    // Observers of changes get the warning too.
    #expect(monitor.changes.value.warning == short && monitor.degradation.every == .seconds(300))
    #expect(bench.status.warning == short)
    viewer.cancel()
    bench.settle()
    // Nothing uses the receiver for a while, and it has enough energy again.
    bench.pass(8 * 3600)
    #expect(bench.status.warning == nil && bench.status.budget?.stepCount == 0)
    #expect(monitor.degradation == .none)
    await bench.end()
  }

  @Test func `a client that changes its request once there is enough energy gets the next fix in time`() async throws {
    let bench = try ScheduleBench(power: "milliwattHoursPerDay: 240, whenShort: { everySeconds: 86400 }")
    let got = Recorder<ScheduleBench.Got>()
    let schedule = MutableProperty(Schedule(every: .seconds(600), within: .seconds(45)))
    let lease = bench.hub.fixes(on: schedule.readOnly).subscribe(
      as: "log[7]", receiveValue: { [clock = bench.clock] in got.append(ScheduleBench.Got(fix: $0, at: clock.now)) })
    bench.settle()
    let viewer = bench.hub.powerLease(of: "gps").subscribe(
      as: "web 127.0.0.1:4000", receiveValue: { _ in })
    bench.settle()
    bench.pass(320)
    viewer.cancel()
    bench.settle()
    bench.pass(1300)
    let count = got.values.count
    #expect(got.values.last?.fix.degraded?.every == .seconds(86_400))
    bench.pass(8 * 3600)
    #expect(got.values.count == count && bench.status.budget?.stepCount == 0)
    schedule.value = Schedule(every: .seconds(300), within: .seconds(45))
    bench.settle()
    bench.pass(320)
    #expect(got.values.count == count + 1 && got.values.last?.fix.degraded == nil, "\(got.values.count - count)")
    lease.cancel()
    bench.settle()
    await bench.end()
  }

  @Test func `a fence gets its fixes as requested, however little energy is left`() async throws {
    let bench = try ScheduleBench(
      power: "milliwattHoursPerDay: 1, whenShort: { everySeconds: 900, accuracyMetres: 500 }")
    let area = try FenceArea(
      circleAbout: Coordinate(latitudeDegrees: 52 + 31.0 / 60, longitudeDegrees: 13 + 22.0 / 60), radiusMetres: 40)
    let said = Recorder<FenceStatus>()
    let fenceMonitor = FenceMonitor(
      FenceSettings(name: "anchor", area: area), clock: bench.clock, report: { said.append($0) })
    fenceMonitor.begin(on: bench.hub)
    bench.settle()
    bench.pass(900)
    #expect(bench.status.budget?.stepCount == 1 && bench.rises >= 3, "\(bench.rises)")
    #expect(bench.status.schedules.first?.degraded == nil)
    #expect(said.values.last?.state == .inside)
    fenceMonitor.end()
    bench.settle()
    await bench.end()
  }
}
