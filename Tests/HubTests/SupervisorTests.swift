import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Hub

/// Readers that hang in a call to the kernel.
@Suite(.timeLimit(.minutes(10)))
struct SupervisorTests {
  private func at(_ seconds: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64(1e9 * (100 + seconds))) }

  @Test
  func `a thread without a step within its time limit is stuck, and one that waits in its poller or moves is not`() {
    var machine = SupervisorMachine()
    machine.begin(1, patience: .seconds(2), stepCount: 0, at(0))
    machine.begin(2, patience: .seconds(2), stepCount: 0, at(0))
    machine.begin(3, patience: .seconds(2), stepCount: 1, at(0))
    var moving: UInt64 = 0
    func look(_ seconds: Double) -> [SupervisorMachine.Effect] {
      moving += 2
      let counts: [Int: UInt64] = [1: 0, 2: moving, 3: 1]
      return machine.look(at(seconds)) { counts[$0] }
    }
    #expect(look(1) == [])
    #expect(look(2) == [.stuck(1)])
    #expect(look(3) == [])
    #expect(!machine.isHopeless(at(11.9)) && machine.isHopeless(at(12)))
    #expect(machine.end(1) == .freed(1) && machine.end(2) == nil && machine.end(3) == nil)
    #expect(machine.isEmpty && !machine.isHopeless(at(99)))
  }

  @Test func `a stuck thread that moves again is no longer stuck`() {
    var machine = SupervisorMachine()
    machine.begin(1, patience: .seconds(2), stepCount: 4, at(0))
    #expect(machine.look(at(5)) { _ in 4 } == [.stuck(1)])
    #expect(machine.look(at(6)) { _ in 6 } == [.freed(1)])
    #expect(!machine.isHopeless(at(60)))
    #expect(machine.look(at(7)) { _ in 6 } == [])
    #expect(machine.look(at(8)) { _ in 6 } == [.stuck(1)])
  }

  @Test func `a thread that exceeds the limit of its wait is stuck, one that waits without a limit is not`() {
    var machine = SupervisorMachine()
    machine.begin(1, patience: .seconds(2), stepCount: 0, at(0))
    machine.begin(2, patience: .seconds(2), stepCount: 0, at(0))
    let limits: [Int: Duration] = [1: .seconds(1)]
    func look(_ seconds: Double) -> [SupervisorMachine.Effect] {
      machine.look(at(seconds), waitLimit: { limits[$0] }, stepCount: { _ in 1 })
    }
    for second in 1...3 { #expect(look(Double(second)) == []) }
    #expect(look(4) == [.stuck(1)])
    #expect(machine.isHopeless(at(14)))
    #expect(machine.end(1) == .freed(1) && machine.end(2) == nil)
  }

  @Test func `a thread of a suspended process does not count as waiting for too long`() {
    var machine = SupervisorMachine()
    machine.begin(1, patience: .seconds(2), stepCount: 0, at(0))
    func look(_ seconds: Double) -> [SupervisorMachine.Effect] {
      machine.look(at(seconds), waitLimit: { _ in .milliseconds(20) }, stepCount: { _ in 1 })
    }
    #expect(look(1) == [] && look(2) == [])
    // A signal stopped the process for a minute.
    #expect(look(62) == [] && look(63) == [] && look(64) == [])
    #expect(look(65) == [.stuck(1)])
  }

  private let hardware = FaultyHardware()
  /// The supervisor's clock.
  private let clock = ManualClock()

  private func hub() throws -> Hub {
    func power(_ line: String) -> String {
      "power: { switch: 'gpio', chip: 'simulated', line: '\(line)', lingerSeconds: 0 }"
    }
    let text = """
      { name: 'x', devices: {
        imu: { driver: 'mpu-6050', bus: 'simulated/i2c', rateHz: 100, \(power("imu-power")) },
        spare: { driver: 'bmi160', bus: 'simulated/i2c', rateHz: 100, \(power("bmi160-power")) } } }
      """
    let machine = Machine(hardware: hardware, supervisor: Supervisor(clock: clock))
    return Hub(board: try Board(json5: Array(text.utf8), file: "x"), on: machine)
  }

  /// Advances the clock until a hanging reader has exceeded its time limit.
  private func pass(_ seconds: Int) { for _ in 0..<seconds { clock.advance(by: .seconds(1)) } }

  @Test func `an IMU that hangs fails and loses its supply`() async throws {
    let hub = try hub()
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking })
    hardware.setHangs(true, at: 0x68)
    #expect(hardware.hangCounts.waits { $0 == 1 })
    pass(3)
    #expect(hub.monitors[0].changes.waits { $0.power == .failed })
    #expect(hub.devices[0].reason.contains("hangs"), "\(hub.devices[0].reason)")
    #expect(hardware.waits(for: false, of: "imu-power"))
    #expect(hardware.hangCount == 1)
    // A reader that returns is started again.
    hardware.setHangs(false, at: 0x68)
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking && $0.wakes == 2 })
    lease.cancel()
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.level(of: "imu-power") == false)
  }

  @Test func `the standby device takes over within the patience plus a second`() async throws {
    let hub = try hub()
    let states = hub.state(parts: [.attitude]).subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking })
    #expect(hub.devices[1].power == .off)
    hardware.setHangs(true, at: 0x68)
    #expect(hardware.hangCounts.waits { $0 == 1 })
    // The time limit is two seconds, and the supervisor checks once a second.
    pass(3)
    #expect(hub.monitors[1].changes.waits { $0.power == .tracking }, "\(hub.devices)")
    hardware.setHangs(false, at: 0x68)
    states.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a chip that hangs while it waits for motion does not delay the standby device`() async throws {
    let text = """
      { name: 'x', devices: {
        imu: { driver: 'lsm6dsox', bus: 'simulated/i2c', address: 0x6A,
          dataReady: { chip: 'simulated', line: 'lsm6dsox-int1' }, power: { supplyVolts: 3.3, lingerSeconds: 0 } },
        spare: { driver: 'bmi160', bus: 'simulated/i2c', rateHz: 100, power: { lingerSeconds: 0 } } } }
      """
    let machine = Machine(hardware: hardware, supervisor: Supervisor(clock: clock))
    let hub = Hub(board: try Board(json5: Array(text.utf8), file: "x"), on: machine)
    let motion = try #require(hub.registry.value.motion)
    let told = Recorder<MotionState>()
    let watch = motion.stillness.subscribe(as: "test", receiveValue: { told.append($0) })
    _ = await told.first { if case .still = $0 { true } else { false } }
    hardware.setHangs(true, at: 0x6A)
    motion.look()
    #expect(hardware.hangCounts.waits { $0 == 1 })
    let states = hub.state(parts: [.attitude]).subscribe(as: "test", receiveValue: { _ in })
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.monitors[0].changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    // Two timers are set: for the supervisor's check, and for the limit of the reader's wait for the chip.
    await clock.sleepers(2)
    pass(3)
    #expect(hub.monitors[1].changes.waits { $0.power == .tracking }, "\(hub.devices)")
    #expect(statuses.values.contains { $0.power == .failed && $0.reason.contains("hangs") }, "\(statuses.values)")
    watching.cancel()
    hardware.setHangs(false, at: 0x6A)
    states.cancel()
    watch.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test(arguments: [false, true])
  func `a board does not count as still while the thread that observes it hangs`(_ isRead: Bool) async throws {
    var world = World(start: MonotonicClock().now)
    world.parked = [0..<1e6]
    let hardware = FaultyHardware(SimulatedHardware(world: world))
    let text = """
      { name: 'x', devices: { imu: { driver: 'lsm6dsox', bus: 'simulated/i2c', address: 0x6A,
        dataReady: { chip: 'simulated', line: 'lsm6dsox-int1' }, power: { supplyVolts: 3.3, lingerSeconds: 0 } } } }
      """
    let machine = Machine(hardware: hardware, supervisor: Supervisor(clock: clock))
    let hub = Hub(board: try Board(json5: Array(text.utf8), file: "x"), on: machine)
    let motion = try #require(hub.registry.value.motion)
    let told = Recorder<MotionState>()
    let watch = motion.stillness.subscribe(as: "test", receiveValue: { told.append($0) })
    @Sendable func isStill(_ state: MotionState?) -> Bool { if case .still = state { true } else { false } }
    _ = await told.first { isStill($0) }
    let batches = Recorder<Int>()
    var viewer: Subscription?
    if isRead {
      viewer = try #require(hub.imu).readings.subscribe(as: "viewer", receiveValue: { batches.append($0.count) })
      #expect(batches.waits { $0.count > 3 })
      // If the change to samples took too long on a busy machine, the samples show stillness themselves.
      #expect(told.waits { isStill($0.last) })
    }
    hardware.setHangs(true, at: 0x6A)
    if !isRead { motion.look() }
    #expect(hardware.hangCounts.waits { $0 == 1 })
    pass(4)
    #expect(told.waits { $0.last == .unknown }, "\(told.values)")
    if !isRead {
      let warning = hub.devices[0].warning ?? ""
      #expect(warning.contains("cannot wait for motion") && warning.contains("hangs"), "\(warning)")
    }
    hardware.setHangs(false, at: 0x6A)
    // The thread starts again once it has returned.
    #expect(told.waits { isStill($0.last) }, "\(told.values)")
    viewer?.cancel()
    watch.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a device does not wait forever for a line that hangs for another device`() async throws {
    let rail = PowerRail(
      .gpio(GPIOLineName(chip: "simulated", line: "imu-power"), activeLow: false), hardware: hardware, clock: clock)
    hardware.set(.hangs, line: "imu-power")
    #expect(
      DetachedThread.start("first") {
        _ = try? rail.require(for: "first", after: .zero, Poller(stop: -1))
        rail.release(for: "first")
      } == 0)
    #expect(hardware.hangCounts.waits { $0 == 1 })
    let failures = Recorder<HardwareError>()
    #expect(
      DetachedThread.start("second") {
        do throws(HardwareError) {
          _ = try rail.require(for: "second", after: .zero, Poller(stop: -1))
        } catch {
          failures.append(error)
        }
      } == 0)
    await clock.sleepers(1)
    clock.advance(by: .seconds(2))
    #expect(failures.waits { $0 == [.stuck("power line simulated/imu-power")] })
    hardware.set(nil, line: "imu-power")
    #expect(hardware.hangCounts.waits { $0 == 0 })
    await rail.isSettled()
  }

  @Test func `the process counts as hopeless while a reader is stuck`() async throws {
    let hub = try hub()
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking })
    hardware.setHangs(true, at: 0x68)
    #expect(hardware.hangCounts.waits { $0 == 1 })
    pass(3)
    #expect(!hub.machine.supervisor.isHopeless)
    pass(12)
    #expect(hub.machine.supervisor.isHopeless)
    hardware.setHangs(false, at: 0x68)
    #expect(hub.waits { !hub.machine.supervisor.isHopeless })
    lease.cancel()
    hub.shutDown()
    await hub.isOff()
    // The supervisor does nothing while no device is awake.
    #expect(clock.waitingCount == 0)
  }

  @Test func `after a shutdown supplies are cut in time, although the program does not yet wait for the devices`()
    async throws
  {
    let hub = try hub()
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking })
    hardware.setHangs(true, at: 0x68)
    #expect(hardware.hangCounts.waits { $0 == 1 })
    hub.shutDown(cuttingAfter: .seconds(4))
    // A second call, as at the end of the program, does not defer this.
    clock.advance(by: .milliseconds(500))
    hub.shutDown(cuttingAfter: .seconds(4))
    #expect(hardware.level(of: "imu-power") == true)
    // The supervisor needs a second check until it notices the reader itself.
    clock.advance(by: .milliseconds(3500))
    #expect(hardware.waits(for: false, of: "imu-power"))
    #expect(hardware.hangCount == 1)
    hardware.setHangs(false, at: 0x68)
    lease.cancel()
    await hub.isOff()
  }

  @Test func `the end of the hub does not wait for a reader that hangs, and its line goes low`() async throws {
    let hub = try hub()
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking })
    hardware.setHangs(true, at: 0x68)
    #expect(hardware.hangCounts.waits { $0 == 1 })
    hub.shutDown()
    let ends = Recorder<Void>()
    async let _ = {
      await hub.isOff(within: .seconds(4))
      ends.append(())
    }()
    // Two timers are set: for the supervisor's check, and for the limit of `isOff`.
    await clock.sleepers(2)
    clock.run(until: clock.now + .seconds(4))
    await ends.first(1)
    #expect(hardware.waits(for: false, of: "imu-power"))
    #expect(hardware.hangCount == 1)
    hardware.setHangs(false, at: 0x68)
    #expect(hardware.hangCounts.waits { $0 == 0 })
    lease.cancel()
  }
}
