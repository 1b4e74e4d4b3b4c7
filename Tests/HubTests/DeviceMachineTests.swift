import Devices
import MonotonicTime
import Publishing
import Testing

@testable import Hub

/// The decisions about one device's energy and rests, tested without a hub.
struct DeviceMachineTests {
  private func at(_ seconds: Int) -> MonotonicInstant { MonotonicInstant(nanoseconds: 0) + .seconds(seconds) }

  /// A device that draws 360 mW at work and 36 mW at rest.
  private let power = Board.Power(
    switch: .none, settleTime: .zero, currentMilliamperes: 100, standbyMilliamperes: 10, supplyVolts: 3.6,
    timing: LifecycleTiming(idleTimeout: .seconds(20)))

  private func machine(_ power: Board.Power? = nil, isSupplied: Bool = true) -> DeviceMachine {
    let status = DeviceStatusMachine(
      id: "gps", kind: .receiver, title: "GPS", hasSwitch: false, isSupplied: isSupplied, at: at(0))
    return DeviceMachine(status, power ?? self.power, isReceiver: true, at: at(0))
  }

  private func isClose(_ a: Double, _ b: Double) -> Bool { abs(a - b) < 1e-9 }

  // MARK: Power

  @Test func `the stated power is that of the work, of the wait for motion, or of the rest`() {
    var machine = machine()
    #expect(isClose(machine.statedMilliwatts, 36))
    machine.status.waitsForMotion(milliamperes: 0.5)
    #expect(isClose(machine.statedMilliwatts, 1.8))
    machine.required(at: at(1))
    #expect(isClose(machine.statedMilliwatts, 360))
    #expect(self.machine(isSupplied: false).statedMilliwatts == 0)
  }

  @Test func `a device that did not fall asleep draws the power of its work`() {
    var machine = machine()
    machine.idle.ended(isAsleep: false, as: nil)
    #expect(isClose(machine.statedMilliwatts, 360) && machine.update(at: at(1))?.power == .awake)
    machine.idle.ended(isAsleep: true, as: nil)
    #expect(isClose(machine.statedMilliwatts, 36))
  }

  @Test func `the measured power at work replaces the stated one in the costs`() {
    var machine = machine()
    #expect(isClose(machine.costs.watts, 0.324))
    machine.required(at: at(0))
    machine.energy.measuredMilliwatts = 136
    _ = machine.goOn(until: at(3600))
    #expect(isClose(machine.costs.watts, 0.1) && isClose(machine.costs.assumedJoules, 3))
  }

  @Test func `a start teaches how much more energy it took than resting`() {
    var machine = machine()
    machine.required(at: at(0))
    #expect(machine.tracking(at: at(0)) == nil, "the time off was unknown")
    #expect(machine.released(at: at(10)) == nil)
    _ = machine.goOn(until: at(70))
    machine.required(at: at(70))
    _ = machine.goOn(until: at(100))
    guard case .started(let off, let joules, let seconds, true, nil) = machine.tracking(at: at(100)) else {
      Issue.record("no start")
      return
    }
    #expect(off == 60 && seconds == 30 && isClose(joules, 0.324 * 30))
    #expect(machine.released(at: at(110)) == nil, "the start counts once")
  }

  @Test func `an attempt to start a missing device teaches nothing, and the device's rest goes on`() {
    var machine = machine()
    machine.required(at: at(0))
    #expect(machine.tracking(at: at(0)) == nil && machine.released(at: at(10)) == nil)
    machine.required(at: at(40))
    _ = machine.goOn(until: at(60))
    #expect(machine.released(at: at(60)) == nil && machine.idle.restingSince == at(10))
    machine.required(at: at(70))
    guard case .started(let off, _, let seconds, true, nil) = machine.tracking(at: at(75)) else {
      Issue.record("no start")
      return
    }
    #expect(off == 60 && seconds == 5 && machine.status.wakes == 2)
  }

  @Test func `until a client comes, the energy is charged to the previous payers`() {
    var machine = machine()
    machine.required(at: at(0))
    _ = machine.tracking(at: at(0))
    #expect(machine.changeHolders(at: at(0)) { $0.came([.client("watch[1]")]) } == nil)
    let charge = machine.changeHolders(at: at(3600)) { $0.came([.client("log[1]")]) }
    #expect(charge?.payers == EnergyByClient.Payers(holders: ["watch[1]"]) && charge?.seconds == 3600)
    // A second lease of the same client changes nothing, and the energy since then is charged later.
    #expect(machine.changeHolders(at: at(7200)) { $0.came([.client("log[1]")]) } == nil)
    #expect(machine.goOn(until: at(7200))?.payers == EnergyByClient.Payers(holders: ["watch[1]", "log[1]"]))
  }

  // MARK: Budget

  @Test func `another budget begins without steps and warnings, and the same budget continues`() {
    var power = power
    power.budget = EnergyBudget(milliwattHoursPerDay: 24, steps: [Degradation(every: .seconds(60))])
    var machine = machine(power)
    machine.takeSteps(left: -1)
    #expect(machine.degradation.every == .seconds(60))
    #expect(machine.update(at: at(1))?.warning?.contains("is short") == true)
    machine.follow(power)
    #expect(machine.degradation.every == .seconds(60))
    power.budget?.milliwattHoursPerDay = 48
    machine.follow(power)
    #expect(machine.degradation == .none)
    let status = machine.update(at: at(2))
    #expect(status != nil && status?.warning == nil)
    power.budget = nil
    machine.follow(power)
    machine.takeSteps(left: nil)
    #expect(machine.degradation == .none && machine.present(left: nil, [], nil).budget == nil)
  }

  // MARK: Idle timeout

  @Test func `a device that ends has no idle timeout, and gives the reason`() {
    var machine = machine()
    let client = Holder.client("watch[1]")
    #expect(machine.lastLeft(client, at: at(0), LearnedIdleTimeout()) == IdleTimeout(.seconds(20)))
    machine.idle.ending = "the hub ends"
    #expect(
      machine.lastLeft(client, at: at(1), LearnedIdleTimeout()) == IdleTimeout(.zero, reason: "the hub ends"))
  }

  @Test func `only a gap between clients teaches, not one before or after a scheduled fix`() {
    var machine = machine()
    let schedule = Holder("schedule", purpose: .schedule)
    let client = Holder.client("watch[1]")
    _ = machine.lastLeft(client, at: at(0), LearnedIdleTimeout())
    #expect(machine.firstCame(client, at: at(30)) == .visited(gap: 30, lingered: nil, machine.costs))
    _ = machine.lastLeft(client, at: at(40), LearnedIdleTimeout())
    #expect(machine.firstCame(schedule, at: at(50)) == nil)
    #expect(machine.lastLeft(schedule, at: at(60), LearnedIdleTimeout()).duration == .zero)
    #expect(machine.firstCame(client, at: at(70)) == nil)
  }

  @Test func `a new idle timeout counts from when the last client left`() {
    var machine = machine()
    _ = machine.lastLeft(.client("watch[1]"), at: at(100), LearnedIdleTimeout())
    #expect(machine.reconsidered(at: at(105), LearnedIdleTimeout()) == nil)
    var power = power
    power.currentMilliamperes = 50
    machine.follow(power)
    #expect(machine.reconsidered(at: at(105), LearnedIdleTimeout()) == nil, "a current is no idle timeout")
    power.timing.idleTimeout = .seconds(60)
    machine.follow(power)
    #expect(machine.reconsidered(at: at(110), LearnedIdleTimeout())?.duration == .seconds(50))
  }

  @Test func `a device stays on until its next fix if a restart costs more`() {
    var machine = machine()
    var learned = LearnedIdleTimeout()
    // A start costs as much as 100 seconds at work.
    learned.restarts.started(after: 60, joules: 32.4, seconds: 30)
    #expect(machine.idle.expectWake(at: at(50)) == true)
    #expect(machine.idle.expectWake(at: at(50)) == false, "this is no change")
    #expect(machine.lastLeft(.client("watch[1]"), at: at(0), learned).duration == .seconds(51))
    #expect(machine.idle.expectWake(at: at(500)) == true)
    #expect(machine.reconsidered(at: at(10), learned)?.duration == .seconds(10))
  }

  @Test func `the reason for a rest gives the time to the next wake, which is earlier than the next fix`() {
    var machine = machine()
    let schedule = Holder("schedule", purpose: .schedule)
    _ = machine.idle.expectWake(at: at(524))
    let idleTimeout = machine.lastLeft(schedule, at: at(0), LearnedIdleTimeout())
    #expect(idleTimeout == IdleTimeout(.zero, reason: "its next scheduled wake was 524 s away"))
  }
}
