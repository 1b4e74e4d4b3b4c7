import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct AK09916DriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("who are you", [0x00], read: [0x48, 0x09]),
    Step("reset", [0x32, 0x01]),
    Step("go on and on at 20 Hz", [0x31, 0x04]),
  ]
  static let isNew = Step("something new", [0x10], read: [0x01])

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus, rateHz: Double = 20) -> any PolledDriver<MagnetometerSample> {
    MagnetometerChip.ak09916.driver(
      ChipConnection(bus: bus, address: 0x0C, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: rateHz))
  }

  private func driver(_ steps: [Step]) -> (any PolledDriver<MagnetometerSample>, PlaybackBus) {
    let bus = PlaybackBus(AK09916DriverTests.start + steps, address: 0x0C)
    return (driver(bus), bus)
  }

  private func world() -> World { World(start: clock.now.advanced(by: .seconds(-100))) }

  private func icm(_ world: World, address: UInt8 = 0x69) -> SimulatedICM20948 {
    SimulatedICM20948(name: "twin", world: world, clock: clock, address: address) { true }
  }

  private func magnetometer(_ world: World, of imu: SimulatedICM20948) -> SimulatedAK09916 {
    SimulatedAK09916(name: "twin", world: world, clock: clock) { imu.isBypassOn }
  }

  @Test func `the driver identifies and configures the chip, reads it in the IMU's axes and powers it down`() throws {
    let (driver, bus) = driver([
      Step("nothing new", [0x10], read: [0x00]),
      AK09916DriverTests.isNew,
      // The values stand for 400, -200 and 100 units of 0.15 microtesla.
      Step("the axes, nothing, and status 2", [0x11], read: [0x90, 0x01, 0x38, 0xFF, 0x64, 0x00, 0x00, 0x00]),
      Step("power down", [0x31, 0x00]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(100))
    let sample = try #require(try driver.read())
    // The magnetometer's y and z axes point against the y and z axes of the IMU.
    let error = sample.field - SIMD3(60, 30, -15)
    #expect((error * error).max().squareRoot() < 0.001)
    // A measurement that is found new is half a period old on average.
    #expect(clock.now - sample.at == .milliseconds(25))
    driver.stop()
    bus.finish()
  }

  @Test(
    arguments: [(5, 10, 0x02), (10, 10, 0x02), (20, 20, 0x04), (21, 20, 0x04), (50, 50, 0x06), (100, 100, 0x08)]
      as [(Double, Double, UInt8)])
  func `the rate is not below the requested rate`(_ requested: Double, _ hertz: Double, _ control: UInt8) throws {
    #expect(MagnetometerChip.ak09916.rate(nearest: requested) == hertz)
    var steps = AK09916DriverTests.start
    steps[2] = Step("go on and on", [0x31, control])
    let bus = PlaybackBus(steps, address: 0x0C)
    try driver(bus, rateHz: requested).start()
    bus.finish()
  }

  @Test func `a field beyond the range is not a measurement`() throws {
    let (driver, bus) = driver([
      AK09916DriverTests.isNew,
      Step("the axes, nothing, and status 2", [0x11], read: [0x90, 0x01, 0x38, 0xFF, 0x64, 0x00, 0x00, 0x08]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8]) func `a hung bus gives no measurement`(_ byte: UInt8) throws {
    let axes = Step("the axes", [0x11], read: Array(repeating: byte, count: 8))
    let (driver, bus) = driver(
      [Step("so is status 1", [0x10], read: [byte])] + (byte == 0 ? [] : [axes]) + [AK09916DriverTests.isNew, axes])
    try driver.start()
    #expect(try driver.read() == nil)
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let bus = PlaybackBus([Step("who are you", [0x00], read: [0x48, 0x9A])], address: 0x0C)
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0xc on playback identifies itself as 0x48 0x9a, which is not an AK09916 of an ICM-20948 (0x48 0x9)"
      )
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test(arguments: [0x68, 0x69] as [UInt8])
  func `if no chip answers, only the bypass of the IMU is set`(_ address: UInt8) throws {
    let world = world()
    let imu = icm(world, address: address)
    let bus = PackageBus([imu, magnetometer(world, of: imu)])
    try I2CRegisters(bus, address: address, capacity: 1).write(0x90, to: 0x0F)
    #expect(!imu.isBypassOn)
    let driver = driver(bus)
    try driver.start()
    #expect(bus.writes(to: address) == [[0x0F, 0x90], [0x0F, 0x92]])
    clock.advance(by: .milliseconds(60))
    #expect(try driver.read() != nil)
  }

  @Test func `an IMU that was left in another bank returns to that bank`() throws {
    let world = world()
    let imu = icm(world)
    let bus = PackageBus([imu, magnetometer(world, of: imu)])
    try I2CRegisters(bus, address: 0x69, capacity: 1).write(0x20, to: 0x7F)
    try driver(bus).start()
    #expect(bus.writes(to: 0x69) == [[0x7F, 0x20], [0x7F, 0x00], [0x0F, 0x02], [0x7F, 0x20]])
  }

  @Test func `an IMU whose driver selects another bank for a moment keeps that bank`() throws {
    let world = world()
    let imu = icm(world)
    let bus = PackageBus([imu, magnetometer(world, of: imu)])
    let registers = I2CRegisters(bus, address: 0x69, capacity: 1)
    try registers.write(0x20, to: 0x7F)
    let driver = MagnetometerChip.ak09916.driver(
      ChipConnection(
        bus: bus, address: 0x0C, clock: clock,
        pause: {
          clock.advance(by: $0)
          if !imu.isBypassOn { try? registers.write(0x00, to: 0x7F) }
        }), PolledConfiguration(rateHz: 20))
    try driver.start()
    #expect(bus.writes(to: 0x69) == [[0x7F, 0x20], [0x7F, 0x00], [0x0F, 0x02]])
  }

  @Test func `nothing is written to an IMU without the magnetometer`() {
    let world = world()
    let others: [any SimulatedChip] = [
      SimulatedMPU6050(name: "twin", world: world, clock: clock, identity: .mpu9250) { true },
      SimulatedBMI160(name: "twin", world: world, clock: clock) { true },
    ]
    for chips in [others, []] {
      let bus = PackageBus(chips)
      #expect(throws: HardwareError.noAcknowledge(bus: "twin", address: 0x0C)) { try driver(bus).start() }
      #expect(bus.writes(to: 0x68).isEmpty && bus.writes(to: 0x69).isEmpty)
    }
  }

  @Test func `the magnetometer stays on the bus while its IMU sleeps, and returns after a reset of the IMU`() throws {
    let world = world()
    let imu = icm(world)
    let bus = PackageBus([imu, magnetometer(world, of: imu)])
    let first = InertialChip.icm20948.driver(
      ChipConnection(bus: bus, address: 0x69, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
    let driver = driver(bus)
    try first.start()
    #expect(imu.isBypassOn)
    try driver.start()
    first.stop()
    clock.advance(by: .milliseconds(60))
    #expect(try driver.read() != nil)
    try InertialChip.icm20948.sleep(on: bus, address: 0x69)
    clock.advance(by: .milliseconds(60))
    #expect(try driver.read() != nil)
    // Only the IMU's driver has written to the interrupt pin's register.
    #expect(bus.writes(to: 0x69).filter { $0 == [0x0F, 0x02] }.count == 1)
    try I2CRegisters(bus, address: 0x69, capacity: 1).write(0x80, to: 0x06)
    // The IMU's own driver may be using the bypass for half a second. After that, the magnetometer's driver must close
    // it.
    var patience = 0
    func isBorne() -> Bool { do { return try driver.read() == nil } catch { return false } }
    while patience < 100, isBorne() { patience += 1 }
    #expect((2..<60).contains(patience), "\(patience)")
    #expect(throws: HardwareError.noAcknowledge(bus: "twin", address: 0x0C)) { try driver.read() }
    try driver.start()
    clock.advance(by: .milliseconds(60))
    #expect(try driver.read() != nil)
  }

  @Test(arguments: [10, 20, 50, 100] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = world()
    let imu = icm(world)
    try PolledTwinCheck(
      bus: PackageBus([imu, magnetometer(world, of: imu)]), address: 0x0C, world: world, clock: clock
    ).run(.ak09916, rateHz: rateHz, fieldTolerance: rateHz < 20 ? 5 : 2.5)
  }

  @Test func `an overflow of the simulated chip gives no measurement`() throws {
    var world = world()
    world.magneticField = SIMD3(0, 0, 5000)
    let driver = driver(SimulatedAK09916(name: "twin", world: world, clock: clock) { true })
    try driver.start()
    clock.advance(by: .milliseconds(100))
    #expect(try driver.read() == nil)
  }
}
