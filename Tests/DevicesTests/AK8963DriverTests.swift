import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct AK8963DriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("who are you", [0x00], read: [0x48, 0x9A]),
    Step("reset", [0x0B, 0x01]),
    Step("the fuses", [0x0A, 0x0F]),
    Step("the trim", [0x10], read: [0xB0, 0x80, 0x60]),
    Step("powered down before another mode", [0x0A, 0x00]),
    Step("go on and on at 100 Hz, 16 bits", [0x0A, 0x16]),
  ]
  static let isNew = Step("something new", [0x02], read: [0x01])

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus, rateHz: Double = 20) -> any PolledDriver<MagnetometerSample> {
    MagnetometerChip.ak8963.driver(
      ChipConnection(bus: bus, address: 0x0C, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: rateHz))
  }

  private func driver(_ steps: [Step]) -> (any PolledDriver<MagnetometerSample>, PlaybackBus) {
    let bus = PlaybackBus(AK8963DriverTests.start + steps, address: 0x0C)
    return (driver(bus), bus)
  }

  private func world() -> World { World(start: clock.now.advanced(by: .seconds(-100))) }

  private func mpu(_ world: World, address: UInt8 = 0x68, _ identity: SimulatedMPU6050.Identity = .mpu9250)
    -> SimulatedMPU6050
  {
    SimulatedMPU6050(name: "twin", world: world, clock: clock, address: address, identity: identity) { true }
  }

  private func magnetometer(_ world: World, of imu: SimulatedMPU6050) -> SimulatedAK8963 {
    SimulatedAK8963(name: "twin", world: world, clock: clock) { imu.isBypassOn }
  }

  @Test func `the driver applies the chip's trim, gives the field in the IMU's axes and powers it down`() throws {
    let (driver, bus) = driver([
      Step("nothing new", [0x02], read: [0x00]),
      AK8963DriverTests.isNew,
      // The values stand for 400, -200 and 100 units of 0.15 microtesla, which the trim multiplies by 1.1875, 1 and
      // 0.875.
      Step("the axes and status 2", [0x03], read: [0x90, 0x01, 0x38, 0xFF, 0x64, 0x00, 0x10]),
      Step("power down", [0x0A, 0x00]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(100))
    let sample = try #require(try driver.read())
    // The magnetometer's y is the IMU's x, its x is the IMU's y, and its z points the other way.
    let error = sample.field - SIMD3(-30, 71.25, -13.125)
    #expect((error * error).max().squareRoot() < 0.001)
    // A measurement that is found new is half a period old on average.
    #expect(clock.now - sample.at == .milliseconds(5))
    driver.stop()
    bus.finish()
  }

  @Test(arguments: [(1, 8, 0x12), (8, 8, 0x12), (9, 100, 0x16), (100, 100, 0x16)] as [(Double, Double, UInt8)])
  func `the rate is not below the requested rate`(_ requested: Double, _ hertz: Double, _ control: UInt8) throws {
    #expect(MagnetometerChip.ak8963.rate(nearest: requested) == hertz)
    var steps = AK8963DriverTests.start
    steps[5] = Step("go on and on", [0x0A, control])
    let bus = PlaybackBus(steps, address: 0x0C)
    try driver(bus, rateHz: requested).start()
    bus.finish()
  }

  @Test(arguments: [0x18, 0x08, 0x00] as [UInt8])
  func `a field beyond the range, or in other units, is not a measurement`(_ status: UInt8) throws {
    let (driver, bus) = driver([
      AK8963DriverTests.isNew,
      Step("the axes and status 2", [0x03], read: [0x90, 0x01, 0x38, 0xFF, 0x64, 0x00, status]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8]) func `a hung bus gives no measurement`(_ byte: UInt8) throws {
    let steps = byte == 0 ? [] : [Step("the axes", [0x03], read: Array(repeating: byte, count: 7))]
    let (driver, bus) = driver(
      [Step("so is status 1", [0x02], read: [byte])] + steps
        + [AK8963DriverTests.isNew, Step("the axes", [0x03], read: Array(repeating: byte, count: 7))])
    try driver.start()
    #expect(try driver.read() == nil)
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(arguments: [[0x48, 0x09], [0x48, 0x05], [0x00, 0x00], [0xFF, 0xFF]] as [[UInt8]])
  func `another chip is refused`(_ identity: [UInt8]) {
    let bus = PlaybackBus([Step("who are you", [0x00], read: identity)], address: 0x0C)
    #expect(
      throws: HardwareError.unexpectedDevice("the chip at 0xc on playback is not an AK8963 of an MPU-9250")
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test(arguments: [[0x00, 0x80, 0x80], [0x80, 0x80, 0xFF]] as [[UInt8]])
  func `a chip without a trim is refused`(_ trim: [UInt8]) {
    var steps = Array(AK8963DriverTests.start[..<4])
    steps[3] = Step("the trim", [0x10], read: trim)
    let bus = PlaybackBus(steps, address: 0x0C)
    #expect(
      throws: HardwareError.unexpectedDevice("the magnetometer at 0xc on playback has no valid factory calibration")
    ) {
      try driver(bus).start()
    }
    bus.finish()
  }

  @Test(arguments: [0x68, 0x69] as [UInt8])
  func `if no chip answers, only the bypass of the IMU is set`(_ address: UInt8) throws {
    let world = world()
    let imu = mpu(world, address: address, .mpu9255)
    let bus = PackageBus([imu, magnetometer(world, of: imu)])
    try I2CRegisters(bus, address: address, capacity: 1).write(0x90, to: 0x37)
    #expect(!imu.isBypassOn)
    let driver = driver(bus)
    try driver.start()
    #expect(bus.writes(to: address) == [[0x37, 0x90], [0x37, 0x92]])
    clock.advance(by: .milliseconds(20))
    #expect(try driver.read() != nil)
  }

  @Test func `nothing is written to an IMU without the magnetometer`() {
    let world = world()
    let others: [any SimulatedChip] = [
      mpu(world, .mpu6500), SimulatedICM20948(name: "twin", world: world, clock: clock) { true },
    ]
    for chips in [others, []] {
      let bus = PackageBus(chips)
      #expect(throws: HardwareError.noAcknowledge(bus: "twin", address: 0x0C)) { try driver(bus).start() }
      #expect(bus.writes(to: 0x68).isEmpty && bus.writes(to: 0x69).isEmpty)
    }
  }

  @Test func `an IMU that reads the magnetometer itself keeps doing so`() throws {
    let world = world()
    let imu = mpu(world)
    let bus = PackageBus([imu, magnetometer(world, of: imu)])
    try I2CRegisters(bus, address: 0x68, capacity: 1).write(0x20, to: 0x6A)
    #expect(throws: HardwareError.noAcknowledge(bus: "twin", address: 0x0C)) { try driver(bus).start() }
    #expect(bus.writes(to: 0x68) == [[0x6A, 0x20], [0x37, 0x02]])
  }

  @Test func `the magnetometer stays on the bus while its IMU sleeps, and returns after a reset of the IMU`() throws {
    let world = world()
    let imu = mpu(world)
    let bus = PackageBus([imu, magnetometer(world, of: imu)])
    let first = InertialChip.mpu9250.driver(
      ChipConnection(bus: bus, address: 0x68, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
    let driver = driver(bus)
    try first.start()
    #expect(imu.isBypassOn)
    try driver.start()
    first.stop()
    clock.advance(by: .milliseconds(20))
    #expect(try driver.read() != nil)
    try InertialChip.mpu9250.sleep(on: bus, address: 0x68)
    clock.advance(by: .milliseconds(20))
    #expect(try driver.read() != nil)
    // Only the drivers of the IMU have written to it.
    #expect(!bus.writes(to: 0x68).contains([0x37, 0x02]))
    try I2CRegisters(bus, address: 0x68, capacity: 1).write(0x80, to: 0x6B)
    // The IMU's own driver may be using the bypass for half a second. After that, the magnetometer's driver must close
    // it.
    var patience = 0
    func isBorne() -> Bool { do { return try driver.read() == nil } catch { return false } }
    while patience < 100, isBorne() { patience += 1 }
    #expect((2..<60).contains(patience), "\(patience)")
    #expect(throws: HardwareError.noAcknowledge(bus: "twin", address: 0x0C)) { try driver.read() }
    try driver.start()
    clock.advance(by: .milliseconds(20))
    #expect(try driver.read() != nil)
  }

  @Test(arguments: [8, 100] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = world()
    let imu = mpu(world)
    try PolledTwinCheck(
      bus: PackageBus([imu, magnetometer(world, of: imu)]), address: 0x0C, world: world, clock: clock
    ).run(.ak8963, rateHz: rateHz, fieldTolerance: rateHz < 10 ? 5 : 2.5)
  }

  @Test func `an overflow of the simulated chip gives no measurement`() throws {
    var world = world()
    world.magneticField = SIMD3(0, 0, 5000)
    let driver = driver(SimulatedAK8963(name: "twin", world: world, clock: clock) { true })
    try driver.start()
    clock.advance(by: .milliseconds(50))
    #expect(try driver.read() == nil)
  }

  @Test func `the simulated chip keeps a measurement until status 2 is read, and ignores a mode set too soon`() throws {
    let chip = SimulatedAK8963(name: "twin", world: world(), clock: clock) { true }
    let registers = I2CRegisters(chip, address: 0x0C, capacity: 8)
    try registers.write(0x16, to: 0x0A)
    clock.advance(by: .milliseconds(10))
    #expect(try registers.read(0x02) == 0x01)
    let kept = Array(try registers.read(0x03, count: 6))
    clock.advance(by: .seconds(5))
    let again = Array(try registers.read(0x03, count: 6))
    #expect(again == kept)
    #expect(try registers.read(0x09) == 0x10)
    clock.advance(by: .milliseconds(10))
    let next = Array(try registers.read(0x03, count: 7))
    #expect(Array(next[..<6]) != kept)
    // The test switches from one mode to another directly, and too soon after power-down.
    try registers.write(0x1F, to: 0x0A)
    #expect(try registers.read(0x0A) == 0x16)
    try registers.write(0x00, to: 0x0A)
    try registers.write(0x1F, to: 0x0A)
    #expect(try registers.read(0x0A) == 0x00)
    #expect(try registers.read(0x10) == 0x00)
    clock.advance(by: .microseconds(100))
    try registers.write(0x1F, to: 0x0A)
    let trim = Array(try registers.read(0x10, count: 3))
    #expect(trim == [176, 178, 166])
  }
}
