import Guarding
import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct LSM6DSOXMotionDriverTests {
  private typealias Step = PlaybackBus.Step

  private let clock = ManualClock()

  private func driver(_ bus: any I2CBus) -> LSM6DSOXMotionDriver {
    LSM6DSOXMotionDriver(
      ChipConnection(bus: bus, address: 0x6A, clock: clock, pause: { [clock] in clock.run(until: clock.now + $0) }))
  }

  @Test func `only the accelerometer waits for motion, with a latched line, and the driver checks its status`() throws {
    let bus = PlaybackBus(
      [
        Step("who are you", [0x0F], read: [0x6C]),
        Step("reset", [0x12, 0x01]),
        Step("whole updates, addresses that go on", [0x12, 0x44]),
        Step("no I3C", [0x18, 0xE2]),
        Step("low power", [0x15, 0x10]),
        Step("high pass at 0.13 Hz, settled at once", [0x17, 0xA8]),
        Step("latched until it is read, behind the high pass", [0x56, 0x51]),
        Step("fine units", [0x5C, 0x10]),
        Step("15.6 mg", [0x5B, 0x02]),
        Step("26 Hz, 2 g", [0x10, 0x20]),
        Step("forget what came before", [0x1B], read: [0x08]),
        Step("interrupts", [0x58, 0x80]),
        Step("to INT1", [0x5E, 0x20]),
        Step("still at 26 Hz?", [0x10], read: [0x20]),
        Step("still to INT1?", [0x5E], read: [0x20]),
        Step("has it moved?", [0x1B], read: [0x0F]),
        Step("still at 26 Hz?", [0x10], read: [0x20]),
        Step("still to INT1?", [0x5E], read: [0x20]),
        Step("has it moved?", [0x1B], read: [0x00]),
        Step("still at 26 Hz?", [0x10], read: [0x00]),
        Step("nothing to INT1", [0x5E, 0x00]),
        Step("off", [0x10, 0x00]),
      ], address: 0x6A)
    let driver = driver(bus)
    try driver.start()
    #expect(try driver.takeMotion())
    #expect(try !driver.takeMotion())
    #expect(throws: HardwareError.self) { try driver.takeMotion() }
    driver.stop()
    bus.finish()
  }

  @Test func `the twin's line rises once at motion, and again only after the status was read`() throws {
    var world = World(start: clock.now)
    world.parked = [0..<7200]
    let interrupt = SimulatedInterrupt()
    let chip = SimulatedLSM6DSOX(name: "test", world: world, clock: clock, interrupt: interrupt) { true }
    let line = interrupt.edges(falling: false)
    defer { line.close() }
    let driver = driver(chip)
    try driver.start()
    clock.run(until: world.start + .seconds(7199))
    #expect(try line.takeEdges() == nil && !driver.takeMotion())
    clock.run(until: world.start + .seconds(7210))
    let edge = try #require(try line.takeEdges())
    #expect(edge.count == 1 && edge.latest.isRising && interrupt.isHigh)
    // A gentle start is detected within two seconds.
    let delay = edge.latest.at.seconds(since: world.start) - 7200
    #expect(delay > 0 && delay < 2, "\(delay) s")
    clock.run(until: world.start + .seconds(7220))
    #expect(try line.takeEdges() == nil)
    #expect(try driver.takeMotion() && !interrupt.isHigh)
    clock.run(until: world.start + .seconds(7230))
    #expect(try line.takeEdges()?.count == 1)
    driver.stop()
    #expect(!interrupt.isHigh)
  }

  /// A clock that advances between any two reads, as for a thread that waits for the processor. The clock performs no
  /// scheduled actions.
  private final class HastyClock: MonotonicTimeSource {
    let manual: ManualClock
    let step = Guarded(Duration.zero)
    private let passed = Guarded(Duration.zero)

    init(_ manual: ManualClock) { self.manual = manual }

    var now: MonotonicInstant {
      let step = step.withLock { $0 }
      return manual.now
        + passed.withLock { passed in
          passed += step
          return passed
        }
    }

    var minimumResolution: Duration { manual.minimumResolution }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
      manual.schedule(at: deadline, action)
    }
  }

  @Test func `the line falls when the status is read, even if the chip moves again before the next look`() throws {
    var world = World(start: clock.now)
    world.parked = [0..<7200]
    let (hasty, interrupt) = (HastyClock(clock), SimulatedInterrupt())
    let chip = SimulatedLSM6DSOX(name: "test", world: world, clock: hasty, interrupt: interrupt) { true }
    let (rises, falls) = (interrupt.edges(falling: false), interrupt.edges(falling: true))
    defer {
      rises.close()
      falls.close()
    }
    let driver = driver(chip)
    try driver.start()
    clock.run(until: world.start + .seconds(7210))
    #expect(try rises.takeEdges()?.count == 1 && falls.takeEdges() == nil)
    hasty.step.withLock { $0 = .seconds(2) }
    #expect(try driver.takeMotion())
    #expect(try falls.takeEdges()?.count == 1 && rises.takeEdges()?.count == 1 && interrupt.isHigh)
  }

  @Test func `a chip that was reset reports that it no longer waits, and a waiting chip can measure again`() throws {
    var world = World(start: clock.now)
    world.parked = [0..<7200]
    let chip = SimulatedLSM6DSOX(name: "test", world: world, clock: clock, interrupt: SimulatedInterrupt()) { true }
    let driver = driver(chip)
    try driver.start()
    chip.lostPower()
    #expect(throws: HardwareError.self) { try driver.takeMotion() }
    try driver.start()
    let measuring = LSM6DSOXDriver(
      ChipConnection(bus: chip, address: 0x6A, clock: clock, pause: { [clock] in clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
    try measuring.start()
    clock.advance(by: .milliseconds(200))
    var batch = IMUBatch()
    try measuring.read(into: &batch)
    #expect(batch.count > 10)
  }
}
