import Devices
import Guarding
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

  private func board(rateHz: Int = 100) throws -> Board {
    let text = """
      { name: 'x', devices: { imu: { driver: 'lsm6dsox', bus: 'simulated/i2c', address: 0x6A, rateHz: \(rateHz),
        dataReady: { chip: 'simulated', line: 'lsm6dsox-int1' },
        power: { switch: 'gpio', chip: 'simulated', line: '\(Self.line)', supplyVolts: 3.3, lingerSeconds: 0 } } } }
      """
    return try Board(json5: Array(text.utf8), file: "x")
  }

  /// - Parameter reading: the clock of the devices; the clock of the supervisor stands still until the test advances it
  private func hub(reading clock: any MonotonicTimeSource = MonotonicClock()) throws -> Hub {
    Hub(board: try board(), on: Machine(hardware: hardware, clock: clock, supervisor: Supervisor(clock: self.clock)))
  }

  private static func isStill(_ state: MotionState?) -> Bool { if case .still = state { true } else { false } }

  /// Subscribes to the motion of the board.
  private func followMotion(
    of hub: Hub
  ) throws -> (monitor: StillnessMonitor, told: Recorder<MotionState>, lease: Subscription) {
    let monitor = try #require(hub.registry.value.motion)
    let told = Recorder<MotionState>()
    return (monitor, told, monitor.stillness.subscribe(as: "test", receiveValue: { told.append($0) }))
  }

  /// Subscribes to the motion of a board that stands still, and makes the thread that watches the chip hang.
  private func hangMotionMonitor(of hub: Hub) async throws -> (monitor: StillnessMonitor, lease: Subscription) {
    let (monitor, told, lease) = try followMotion(of: hub)
    _ = await told.first { Self.isStill($0) }
    hardware.setHangs(true, at: 0x6A)
    monitor.look()
    #expect(hardware.hangCounts.waits { $0 == 1 })
    return (monitor, lease)
  }

  /// Expects that a hub that shuts down cuts the supply after four seconds, while the thread still hangs. Then the chip
  /// answers again, and the hub ends.
  private func expectCut(by hub: Hub, endingLater lease: Subscription) async {
    clock.advance(by: .seconds(4))
    #expect(hardware.waits(for: false, of: Self.line))
    #expect(hardware.hangCount == 1)
    hardware.setHangs(false, at: 0x6A)
    lease.cancel()
    await hub.isOff()
  }

  @Test func `a motion monitor that hung takes no supply from the monitor of the next board`() async throws {
    let hub = try hub()
    let (old, lease) = try await hangMotionMonitor(of: hub)
    for _ in 0..<4 { clock.advance(by: .seconds(1)) }
    #expect(hardware.waits(for: false, of: Self.line))
    hub.exchangeBoard(for: try board(rateHz: 50))
    let (_, told, heir) = try followMotion(of: hub)
    #expect(hardware.waits(for: true, of: Self.line))
    #expect(hardware.hangCounts.waits { $0 == 2 })
    hardware.setHangs(false, at: 0x6A)
    #expect(old.activity.waits { $0.phase == .idle })
    #expect(told.waits { Self.isStill($0.last) }, "\(told.values)")
    // The supply was not interrupted when the old thread returned.
    #expect(hardware.levels.values == ["\(Self.line) true", "\(Self.line) false", "\(Self.line) true"])
    heir.cancel()
    lease.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a shutdown also cuts the supply of a motion monitor that hangs`() async throws {
    let hub = try hub()
    let (_, lease) = try await hangMotionMonitor(of: hub)
    hub.shutDown(cuttingAfter: .seconds(4))
    // The supervisor needs a second check until it notices the monitor itself.
    await expectCut(by: hub, endingLater: lease)
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
    await expectCut(by: hub, endingLater: lease)
  }
}
