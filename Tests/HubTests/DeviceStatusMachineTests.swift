import HardwareIO
import MonotonicTime
import Publishing
import Testing

@testable import Hub

/// The power state of a device, tested without a hub.
struct DeviceStatusMachineTests {
  private func at(_ seconds: Int) -> MonotonicInstant { MonotonicInstant(nanoseconds: 0) + .seconds(100 + seconds) }

  private func machine(
    _ kind: DeviceStatus.Kind = .receiver, hasSwitch: Bool = true, isSupplied: Bool = false
  ) -> DeviceStatusMachine {
    DeviceStatusMachine(id: "gps", kind: kind, title: "GPS", hasSwitch: hasSwitch, isSupplied: isSupplied, at: at(0))
  }

  private func activity(_ phase: SourceActivity.Phase, _ reason: String = "", until: MonotonicInstant? = nil)
    -> SourceActivity
  {
    SourceActivity(phase: phase, since: at(0), reason: reason, subscriberCount: 1, until: until)
  }

  /// The status that an update delivers.
  private func update(
    _ machine: inout DeviceStatusMachine, at now: MonotonicInstant, isAwake: Bool = false
  ) throws -> DeviceStatus {
    let status = machine.update(at: now, isAwake: isAwake)
    return try #require(status)
  }

  /// A supply that is on.
  private func supply(
    users: [String] = [], sleepers: [String] = [], problem: HardwareError? = nil
  ) -> PowerRail.Supply {
    PowerRail.Supply(isOn: true, users: users, sleepers: sleepers, since: nil, problem: problem)
  }

  @Test func `a run goes from settling over a search to a fix, and a fix after a loss is not a first fix`() throws {
    var machine = machine()
    machine.take(activity(.running, "for watch"))
    machine.required(at: at(1))
    #expect(machine.use == .starting)
    #expect(try update(&machine, at: at(1)).power == .settling)
    machine.woke()
    machine.acquiring()
    let search = try update(&machine, at: at(2))
    #expect(search.power == .acquiring && search.reason == "no fix yet" && search.since == at(2) && search.wakes == 1)
    #expect(machine.tracking(at: at(31)) == true)
    let fix = try update(&machine, at: at(31))
    #expect(fix.power == .tracking && fix.timeToFirstFix == .seconds(30) && machine.use == .measuring)
    #expect(machine.tracking(at: at(32)) == false)
    #expect(machine.update(at: at(32), isAwake: false) == nil, "a further fix is no change")
    machine.acquiring()
    #expect(try update(&machine, at: at(40)).reason == "it has lost its fix")
    #expect(machine.tracking(at: at(50)) == false)
    let again = try update(&machine, at: at(50))
    #expect(again.power == .tracking && again.timeToFirstFix == .seconds(30))
  }

  @Test func `the next run has a first fix of its own`() {
    var machine = machine()
    machine.required(at: at(0))
    #expect(machine.tracking(at: at(5)) == true)
    #expect(machine.released() == true)
    #expect(machine.use == .resting)
    #expect(machine.released() == false, "a reader that returns late ends no run")
    machine.required(at: at(60))
    #expect(machine.use == .starting && machine.tracking(at: at(62)))
  }

  @Test func `a run counts as one wake once the device has started, and an attempt to start it as none`() {
    var machine = machine()
    machine.required(at: at(0))
    #expect(machine.released() == true && machine.wakes == 0)
    machine.woke()
    #expect(machine.wakes == 0, "a reader that returns late starts no run")
    machine.required(at: at(10))
    machine.woke()
    machine.woke()
    #expect(machine.tracking(at: at(12)) == true && machine.wakes == 1)
    #expect(machine.released() == true)
    machine.required(at: at(20))
    // A device that measures has started.
    #expect(machine.tracking(at: at(21)) == true && machine.wakes == 2)
  }

  @Test func `while a device stops it keeps its state, and then it is off`() throws {
    var machine = machine(.imu)
    machine.take(activity(.running))
    machine.required(at: at(0))
    _ = machine.tracking(at: at(1))
    _ = machine.update(at: at(1), isAwake: false)
    machine.take(activity(.lingering, "watch left", until: at(9)))
    let lingering = try update(&machine, at: at(2))
    #expect(lingering.power == .lingering && lingering.lingersUntil == at(9))
    machine.take(activity(.stopping, "the idle timeout is over"))
    let stopping = try update(&machine, at: at(9))
    #expect(stopping.power == .lingering && stopping.reason == "watch left")
    #expect(machine.released() == true)
    #expect(try update(&machine, at: at(10)).power == .off)
    machine.take(activity(.idle, "watch left"))
    #expect(try update(&machine, at: at(11)).reason == "watch left")
  }

  @Test func `a run that ends by itself is not said to have started`() throws {
    var machine = machine(hasSwitch: false)
    machine.take(supply(users: ["gps"]))
    machine.take(activity(.running, "started"))
    machine.required(at: at(0))
    _ = machine.tracking(at: at(1))
    _ = machine.update(at: at(1), isAwake: false)
    #expect(machine.released() == true)
    let ended = try update(&machine, at: at(2))
    #expect(ended.power == .asleep && ended.reason == "its run has ended")
    machine.take(activity(.failed, "it has gone away"))
    let failed = try update(&machine, at: at(2))
    #expect(failed.power == .failed && failed.reason == "it has gone away")
  }

  @Test func `a supply counts for a device only if something other than its reader keeps it on`() throws {
    var machine = machine()
    machine.take(activity(.idle, "no client"))
    machine.take(supply(users: ["gps"]))
    #expect(!machine.isSupplied)
    machine.take(supply(users: ["gps", "imu"]))
    #expect(machine.isSupplied)
    let supplied = try update(&machine, at: at(1))
    #expect(supplied.power == .asleep && supplied.reason == "supplied for imu")
    #expect(try update(&machine, at: at(2), isAwake: true).power == .awake)
    machine.take(supply(users: ["imu"], sleepers: ["gps"]))
    #expect(try update(&machine, at: at(3)).reason == "no client")
    machine.take(supply())
    #expect(machine.isSupplied, "the supply was left on")
    var always = self.machine(hasSwitch: false)
    always.take(supply(users: ["gps"]))
    #expect(always.isSupplied)
  }

  @Test func `a line that cannot be driven low is a problem only while the supply counts as on`() throws {
    var machine = machine()
    let problem = HardwareError.system("driving the line", errno: 5)
    machine.take(supply(problem: problem))
    machine.setWarning(about: .reception, "jammed")
    let stuck = try update(&machine, at: at(5))
    #expect(stuck.isSupplyStuck && stuck.warning == machine.switchProblem)
    #expect(machine.conditions(nil).map(\.kind) == [.supply, .warning])
    #expect(machine.conditions(nil).map(\.since) == [at(5), at(5)])
    machine.take(PowerRail.Supply(isOn: false, users: [], since: nil, problem: problem))
    let low = try update(&machine, at: at(7))
    #expect(!low.isSupplyStuck && low.warning == "jammed")
    #expect(machine.conditions(nil).map(\.since) == [at(7)])
  }

  @Test func `a device that waits for motion draws its current, and says so while it is idle`() throws {
    var machine = machine(.imu)
    machine.take(activity(.idle))
    machine.waitsForMotion(milliamperes: 0.5)
    #expect(try update(&machine, at: at(1)).reason == "it waits for motion")
    #expect(machine.use == .waitingForMotion(milliamperes: 0.5))
    machine.required(at: at(2))
    #expect(machine.use == .starting)
  }

  @Test func `a suspension lengthens the time in a state, and the wakes of a previous device do not count as a change`()
    throws
  {
    var machine = machine()
    machine.open(wakes: 7)
    #expect(machine.update(at: at(1), isAwake: false) == nil && machine.wakes == 7)
    machine.goBack(by: .seconds(60))
    #expect(try update(&machine, at: at(2)).since == at(-60))
  }

  @Test func `the present budget replaces the warning of the last update`() {
    var machine = machine()
    machine.setWarning(about: .budget, "old")
    _ = machine.update(at: at(1), isAwake: false)
    let budget = EnergyBudget(milliwattHoursPerDay: 24)
    #expect(machine.status(with: nil).warning == "old")
    #expect(machine.status(with: budget.report(left: 1, taken: 0)).warning == nil)
    #expect(
      machine.status(with: budget.report(left: -1, taken: 0)).warning == "its budget of 24 mWh a day is used up")
  }
}
