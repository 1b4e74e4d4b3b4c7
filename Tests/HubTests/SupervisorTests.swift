import Guarding
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

  @Test func `a thread that is where it was for its patience is stuck, one that waits in its poller or moves is not`() {
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

  @Test func `a thread that goes on is not stuck any more`() {
    var machine = SupervisorMachine()
    machine.begin(1, patience: .seconds(2), stepCount: 4, at(0))
    #expect(machine.look(at(5)) { _ in 4 } == [.stuck(1)])
    #expect(machine.look(at(6)) { _ in 6 } == [.freed(1)])
    #expect(!machine.isHopeless(at(60)))
    #expect(machine.look(at(7)) { _ in 6 } == [])
    #expect(machine.look(at(8)) { _ in 6 } == [.stuck(1)])
  }

  private let hardware = FaultyHardware()
  /// The supervisor's.
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

  /// Until a reader that is awake alone, and hangs, has missed its patience.
  private func pass(_ seconds: Int) { for _ in 0..<seconds { clock.advance(by: .seconds(1)) } }

  @Test func `an inertial sensor that hangs fails, and loses its supply`() async throws {
    let hub = try hub()
    let lease = try #require(hub.wakefulness(of: "imu")).subscribe(as: "test", receiveValue: { _ in })
    #expect(eventually { hub.devices[0].power == .tracking })
    hardware.setHangs(true, at: 0x68)
    #expect(eventually { hardware.hangCount == 1 })
    pass(3)
    #expect(eventually { hub.devices[0].power == .failed })
    #expect(hub.devices[0].reason.contains("hangs"), "\(hub.devices[0].reason)")
    #expect(eventually { hardware.level(of: "imu-power") == false })
    #expect(hardware.hangCount == 1)
    // A reader that goes on is started again.
    hardware.setHangs(false, at: 0x68)
    #expect(eventually { hub.devices[0].power == .tracking && hub.devices[0].wakes == 2 })
    lease.cancel()
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.level(of: "imu-power") == false)
  }

  @Test func `a reader that nothing frees makes the process hopeless, until it goes on`() async throws {
    let hub = try hub()
    let lease = try #require(hub.wakefulness(of: "imu")).subscribe(as: "test", receiveValue: { _ in })
    #expect(eventually { hub.devices[0].power == .tracking })
    hardware.setHangs(true, at: 0x68)
    #expect(eventually { hardware.hangCount == 1 })
    pass(3)
    #expect(!hub.machine.supervisor.isHopeless)
    pass(12)
    #expect(hub.machine.supervisor.isHopeless)
    hardware.setHangs(false, at: 0x68)
    #expect(eventually { !hub.machine.supervisor.isHopeless })
    lease.cancel()
    hub.shutDown()
    await hub.isOff()
    // Nothing is looked at while no device is awake.
    #expect(clock.waitingCount == 0)
  }

  @Test func `the end of the hub does not wait for a reader that hangs, and its line goes low`() async throws {
    let hub = try hub()
    let lease = try #require(hub.wakefulness(of: "imu")).subscribe(as: "test", receiveValue: { _ in })
    #expect(eventually { hub.devices[0].power == .tracking })
    hardware.setHangs(true, at: 0x68)
    #expect(eventually { hardware.hangCount == 1 })
    hub.shutDown()
    let isOver = Guarded(false)
    async let _ = {
      await hub.isOff(within: .seconds(4))
      isOver.withLock { $0 = true }
    }()
    // The look of the supervisor and the limit.
    await clock.sleepers(2)
    #expect(
      eventually {
        clock.advance(by: .milliseconds(500))
        return isOver.withLock { $0 }
      })
    #expect(eventually { hardware.level(of: "imu-power") == false })
    #expect(hardware.hangCount == 1)
    hardware.setHangs(false, at: 0x68)
    #expect(eventually { hardware.hangCount == 0 })
    lease.cancel()
  }
}
