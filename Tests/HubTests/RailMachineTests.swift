import HardwareIO
import MonotonicTime
import Testing

@testable import Hub

/// When a supply line is driven, tested without a line.
struct RailMachineTests {
  private let broken = HardwareError.system("driving the line", errno: 5)
  private func at(_ seconds: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64(1e9 * (100 + seconds))) }

  private func switchedOn(for user: String, minimumOn: Duration = .zero) -> RailMachine {
    var machine = RailMachine(isSwitched: true, now: at(0))
    #expect(machine.require(for: user, minimumOff: .zero, minimumOn: minimumOn, at(0)) == .driveHigh)
    let (since, effect) = machine.droveHigh(for: user, minimumOn: minimumOn, .high, at(0))
    #expect(since == at(0) && effect == .nothing)
    return machine
  }

  @Test func `a line that cannot be driven low counts as on, and is retried at growing intervals until it is low`() {
    var machine = switchedOn(for: "gps")
    #expect(machine.release(for: "gps", at(1)) == .driveLow)
    #expect(machine.droveLow(broken, at(1)) == .lookAgain(at: at(2)))
    #expect(machine.supply.isOn && machine.supply.problem == broken)
    #expect(machine.look(at(2)) == .driveLow)
    #expect(machine.droveLow(broken, at(2)) == .lookAgain(at: at(4)))
    #expect(machine.look(at(4)) == .driveLow)
    #expect(machine.droveLow(nil, at(4)) == .nothing)
    #expect(!machine.supply.isOn && machine.supply.problem == nil && machine.supply.since == at(4))
    #expect(machine.look(at(5)) == .nothing)
  }

  @Test func `a supply that was cut while it was being released is available to the next run`() {
    var machine = switchedOn(for: "gps")
    #expect(machine.release(for: "gps", at(1)) == .driveLow)
    // The line hangs for a while.
    #expect(machine.cut(for: "gps", at(3)) == .nothing)
    #expect(machine.droveLow(nil, at(4)) == .nothing)
    #expect(machine.require(for: "gps", minimumOff: .zero, minimumOn: .zero, at(5)) == .driveHigh)
    #expect(machine.droveHigh(for: "gps", minimumOn: .zero, .high, at(5)).onSince == at(5))
  }

  @Test func `a line that could not be driven low is retried at once when any of its devices stops`() {
    var machine = switchedOn(for: "gps")
    _ = machine.release(for: "gps", at(1))
    _ = machine.droveLow(broken, at(1))
    #expect(machine.require(for: "imu", minimumOff: .zero, minimumOn: .zero, at(1.1)) == .driveHigh)
    _ = machine.droveHigh(for: "imu", minimumOn: .zero, .high, at(1.1))
    #expect(machine.supply.problem == nil)
    #expect(machine.release(for: "imu", at(1.2)) == .driveLow)
  }

  @Test func `a missing GPIO chip's supply does not count as on`() {
    var machine = RailMachine(isSwitched: true, now: at(0))
    #expect(machine.makeSafe() == .driveLow)
    #expect(machine.droveLow(.notFound("GPIO chip"), at(0)) == .lookAgain(at: at(1)))
    #expect(!machine.supply.isOn && machine.supply.problem != nil && !machine.hasBeenDriven)
    #expect(machine.look(at(1)) == .driveLow)
    _ = machine.droveLow(nil, at(1))
    #expect(machine.hasBeenDriven && machine.supply.problem == nil)
  }

  @Test
  func `a supply stays on for its minimum time when its user ends, but not after a cut or at the end of the process`() {
    var machine = switchedOn(for: "gps", minimumOn: .seconds(6))
    #expect(machine.release(for: "gps", at(2)) == .lookAgain(at: at(6)))
    #expect(machine.supply.isOn)
    // The line is on for the next device at once.
    #expect(
      machine.require(for: "gps", minimumOff: .seconds(9), minimumOn: .seconds(6), at(3)) == .granted(since: at(0)))
    #expect(machine.release(for: "gps", at(6)) == .driveLow)
    var cut = switchedOn(for: "gps", minimumOn: .seconds(6))
    #expect(cut.cut(for: "gps", at(2)) == .driveLow)
    var ending = switchedOn(for: "gps", minimumOn: .seconds(6))
    _ = ending.release(for: "gps", at(2))
    #expect(ending.end(at(3)) == .driveLow)
  }

  @Test func `a device that is cut off while its line is being driven does not get the supply`() {
    var machine = RailMachine(isSwitched: true, now: at(0))
    #expect(machine.require(for: "gps", minimumOff: .zero, minimumOn: .zero, at(0)) == .driveHigh)
    #expect(machine.require(for: "imu", minimumOff: .zero, minimumOn: .zero, at(1)) == .busy)
    #expect(machine.cut(for: "gps", at(3)) == .nothing)
    let (since, effect) = machine.droveHigh(for: "gps", minimumOn: .seconds(60), .high, at(9))
    #expect(since == nil && effect == .driveLow)
  }

  @Test func `the minimum time off counts from the last level, including that of an earlier hub`() {
    var machine = RailMachine(isSwitched: true, now: at(0))
    #expect(machine.offEnd(.seconds(20)) == nil)
    machine.wasOff(since: at(-5))
    #expect(machine.require(for: "gps", minimumOff: .seconds(20), minimumOn: .zero, at(0)) == .rest(until: at(15)))
    #expect(machine.require(for: "gps", minimumOff: .seconds(20), minimumOn: .zero, at(15)) == .driveHigh)
  }

  @Test func `a suspension counts as time off`() {
    var machine = switchedOn(for: "gps")
    #expect(machine.release(for: "gps", at(10)) == .driveLow)
    #expect(machine.droveLow(nil, at(10)) == .nothing)
    #expect(machine.offEnd(.seconds(300)) == at(310))
    machine.resume(after: .seconds(240))
    #expect(machine.offEnd(.seconds(300)) == at(70))
  }
}
