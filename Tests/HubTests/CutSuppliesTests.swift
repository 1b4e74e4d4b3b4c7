import HardwareIO
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Hub

/// Supplies that are cut because a thread hangs, or has not ended in time.
@Suite(.timeLimit(.minutes(10)))
struct CutSuppliesTests {
  private static let line = "lsm6dsox-power"

  private let hardware: FaultyHardware
  private let clock = ManualClock()

  init() {
    var world = World(start: MonotonicClock().now)
    world.parked = [0..<1e6]
    hardware = FaultyHardware(SimulatedHardware(world: world))
  }

  private func board() throws -> Board {
    let text = """
      { name: 'x', devices: { imu: { driver: 'lsm6dsox', bus: 'simulated/i2c', address: 0x6A, rateHz: 100,
        dataReady: { chip: 'simulated', line: 'lsm6dsox-int1' },
        power: { switch: 'gpio', chip: 'simulated', line: '\(Self.line)', supplyVolts: 3.3, lingerSeconds: 0 } } } }
      """
    return try Board(json5: Array(text.utf8), file: "x")
  }

  /// - Parameter reading: the clock of the devices; the clock of the supervisor stands still until the test advances it
  private func hub(reading clock: any MonotonicTimeSource = MonotonicClock()) throws -> Hub {
    Hub(board: try board(), on: Machine(hardware: hardware, clock: clock, supervisor: Supervisor(clock: self.clock)))
  }

  @Test func `a reader that a suspension has interrupted has not ended, and loses its supply at the shutdown`()
    async throws
  {
    let hub = try hub(reading: clock)
    let lease = hub.powerLease(of: "imu").subscribe(as: "test", receiveValue: { _ in })
    #expect(hub.monitors[0].changes.waits { $0.power == .tracking })
    hardware.setHangs(true, at: 0x6A)
    #expect(hardware.hangCounts.waits { $0 == 1 })
    clock.suspend(for: .seconds(3600))
    #expect(hub.devices[0].power == .failed)
    #expect(!hub.registry.value.readers[0].isEnded)
    hub.shutDown(cuttingAfter: .seconds(4))
    #expect(hardware.level(of: Self.line) == true)
    clock.advance(by: .seconds(4))
    #expect(hardware.waits(for: false, of: Self.line))
    #expect(hardware.hangCount == 1)
    hardware.setHangs(false, at: 0x6A)
    lease.cancel()
    await hub.isOff()
  }
}
