import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct LSM9DS1DriverTests {
  typealias Step = PlaybackBus.Step

  /// The writes that make the chip fill its FIFO 119 times a second, 500 degrees per second and 4 g full scale.
  static let start =
    [
      Step("who are you", [0x0F], read: [0x68]),
      Step("reset", [0x22, 0x01]),
      Step("whole updates, addresses that go on", [0x22, 0x44]),
      Step("gyroscope at 119 Hz, 500 degrees per second", [0x10, 0x68]),
      Step("accelerometer at 119 Hz, 4 g", [0x20, 0x70]),
      Step("there is a FIFO", [0x23, 0x02]),
    ] + restartFIFO
  static let restartFIFO = [Step("FIFO bypassed", [0x2E, 0x00]), Step("FIFO on", [0x2E, 0xC0])]
  static let temperature = Step("temperature", [0x15], read: [0x10, 0x00])

  /// A sample with 1000 units about x, -1000 about z, and 8197 along z.
  static let sample = [
    Step("the gyroscope", [0x18], read: [0xE8, 0x03, 0, 0, 0x18, 0xFC]),
    Step("the accelerometer", [0x28], read: [0, 0, 0, 0, 0x05, 0x20]),
  ]

  static func look(_ status: UInt8) -> Step { Step("how many samples", [0x2F], read: [status]) }

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus, dataReady: (any GPIOEdgeInput)? = nil) -> LSM9DS1Driver {
    LSM9DS1Driver(
      ChipConnection(
        bus: bus, address: 0x6B, dataReady: dataReady, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 119))
  }

  /// Reads the given number of times; returns the samples of the last reading.
  private func read(
    times: Int = 1, _ steps: [Step], _ check: (LSM9DS1Driver, IMUBatch) throws -> Void
  ) throws {
    let bus = PlaybackBus(LSM9DS1DriverTests.start + steps, address: 0x6B)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    for _ in 0..<times {
      clock.advance(by: .milliseconds(20))
      try driver.read(into: &batch)
    }
    try check(driver, batch)
    bus.finish()
  }

  @Test func `the driver reads the chip with right-handed axes and puts it to sleep`() throws {
    let sleep = [Step("gyroscope off", [0x10, 0x00]), Step("accelerometer off", [0x20, 0x00])]
    let samples = LSM9DS1DriverTests.sample + LSM9DS1DriverTests.sample
    try read([LSM9DS1DriverTests.look(0x02)] + samples + [LSM9DS1DriverTests.temperature] + sleep) { driver, batch in
      #expect(batch.count == 2 && driver.counters.samples == 2)
      for index in 0..<2 {
        // A unit is 17.5 mdps and 0.122 mg. The z axis is inverted.
        #expect(abs(batch[index].gyroscope.x - radians(17.5)) < 1e-5)
        #expect(abs(batch[index].gyroscope.z - radians(17.5)) < 1e-5)
        #expect(abs(batch[index].accelerometer.z + 9.807) < 1e-3)
      }
      #expect(batch.temperatureCelsius == 26)
      #expect(abs((batch[1].at - batch[0].at).inSeconds - 1 / 119.0) < 1e-5)
      driver.stop()
    }
  }

  @Test(
    arguments: [
      (.dps250, .g2, 0x60, 0x60, 8.75, 0.061), (.dps500, .g4, 0x68, 0x70, 17.5, 0.122),
      (.dps1000, .g8, 0x78, 0x78, 70, 0.244), (.dps2000, .g16, 0x78, 0x68, 70, 0.732),
    ]
      as [(
        InertialConfiguration.GyroscopeRange, InertialConfiguration.AccelerometerRange, UInt8, UInt8, Float, Float
      )])
  func `each range has its bits and its units`(
    _ gyroscope: InertialConfiguration.GyroscopeRange, _ accelerometer: InertialConfiguration.AccelerometerRange,
    _ gyroscopeBits: UInt8, _ accelerometerBits: UInt8, _ thousandthsOfDegrees: Float, _ thousandthsOfGravity: Float
  ) throws {
    var steps = LSM9DS1DriverTests.start
    steps[3] = Step("gyroscope", [0x10, gyroscopeBits])
    steps[4] = Step("accelerometer", [0x20, accelerometerBits])
    let bus = PlaybackBus(
      steps + [LSM9DS1DriverTests.look(0x01)] + LSM9DS1DriverTests.sample + [LSM9DS1DriverTests.temperature],
      address: 0x6B)
    let driver = LSM9DS1Driver(
      ChipConnection(bus: bus, address: 0x6B, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 119, gyroscopeRange: gyroscope, accelerometerRange: accelerometer))
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    try #require(batch.count == 1)
    #expect(abs(batch[0].gyroscope.x - radians(thousandthsOfDegrees)) < 1e-5)
    #expect(abs(batch[0].accelerometer.z + 8197 * thousandthsOfGravity * 9.80665e-3) < 1e-3)
    bus.finish()
  }

  private struct Line: GPIOEdgeInput {
    let fileDescriptor: Int32 = -1
    func takeEdges() throws(HardwareError) -> (latest: GPIOEdge, count: Int)? { nil }
    func close() {}
  }

  @Test func `a wired line is not used, because it would stay high`() throws {
    let bus = PlaybackBus(LSM9DS1DriverTests.start, address: 0x6B)
    let driver = driver(bus, dataReady: Line())
    try driver.start()
    #expect(!driver.signalsSamples)
    bus.finish()
  }

  @Test(arguments: [0, 1]) func `a sample at an end of the scale is left out`(_ saturated: Int) throws {
    var sample = LSM9DS1DriverTests.sample
    sample[saturated].read = [0xFF, 0x7F, 0, 0, 0x18, 0xFC]
    let steps =
      [LSM9DS1DriverTests.look(0x02)] + sample + LSM9DS1DriverTests.sample + [LSM9DS1DriverTests.temperature]
    try read(steps) { _, batch in
      try #require(batch.count == 1)
      #expect(abs(batch[0].gyroscope.x - radians(17.5)) < 1e-5 && abs(batch[0].accelerometer.z + 9.807) < 1e-3)
    }
  }

  @Test func `an overrun empties the FIFO, is counted and marks a gap`() throws {
    let steps =
      [LSM9DS1DriverTests.look(0x60)] + LSM9DS1DriverTests.restartFIFO + [LSM9DS1DriverTests.look(0x01)]
      + LSM9DS1DriverTests.sample + [LSM9DS1DriverTests.temperature]
    try read(times: 2, steps) { driver, batch in
      #expect(batch.count == 1 && batch.followsGap && driver.counters.overflows == 1 && driver.counters.misreads == 0)
    }
  }

  @Test(arguments: [0, 1]) func `a read that lost arbitration restarts the FIFO`(_ lost: Int) throws {
    var sample = LSM9DS1DriverTests.sample
    sample[lost].error = .arbitrationLost(bus: "playback", address: 0x6B)
    let steps =
      [LSM9DS1DriverTests.look(0x02)] + LSM9DS1DriverTests.sample + Array(sample.prefix(lost + 1))
      + LSM9DS1DriverTests.restartFIFO
    try read(steps) { driver, batch in
      #expect(batch.count == 0 && batch.followsGap && driver.counters.misreads == 1 && driver.counters.samples == 0)
    }
  }

  @Test func `a hung bus gives no samples`() throws {
    let steps = [LSM9DS1DriverTests.look(0x00), LSM9DS1DriverTests.look(0xFF)] + LSM9DS1DriverTests.restartFIFO
    try read(times: 2, steps) { driver, batch in #expect(batch.count == 0 && driver.counters.samples == 0) }
  }

  @Test func `another chip is refused`() {
    let bus = PlaybackBus([Step("who are you", [0x0F], read: [0x6A])], address: 0x6B)
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x6b on playback identifies itself as 0x6a, which is not an LSM9DS1 (0x68)")
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test(arguments: [59.5, 119, 238, 476, 952] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedLSM9DS1(name: "twin", world: world, clock: clock) { true }
    try InertialTwinCheck(chip: .lsm9ds1, bus: chip, address: 0x6B, world: world, clock: clock).run(rateHz: rateHz)
  }

  @Test func `the twin has the temperature of the world`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let driver = driver(SimulatedLSM9DS1(name: "twin", world: world, clock: clock) { true })
    try driver.start()
    clock.advance(by: .milliseconds(100))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(abs(try #require(batch.temperatureCelsius) - Float(world.temperatureCelsius)) < 0.1)
  }
}

struct LSM9DS1MagnetometerDriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("who are you", [0x0F], read: [0x3D]),
    Step("who are you, as one that is driven alike", [0x0F], read: [0x3D]),
    Step("reset", [0x21, 0x04]),
    Step("ultra-high performance at 20 Hz", [0x20, 0x74]),
    Step("4 gauss", [0x21, 0x00]),
    Step("ultra-high performance of z", [0x23, 0x0C]),
    Step("both bytes together", [0x24, 0x40]),
    Step("go on and on", [0x22, 0x00]),
  ]

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus) -> any PolledDriver<MagnetometerSample> {
    MagnetometerChip.lsm9ds1Magnetometer.driver(
      ChipConnection(bus: bus, address: 0x1E, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 20))
  }

  @Test func `the driver identifies the chip, reads it in the other half's axes and powers it down`() throws {
    let bus = PlaybackBus(
      LSM9DS1MagnetometerDriverTests.start + [
        Step("nothing new", [0x27], read: [0x00]),
        Step("something new", [0x27], read: [0x0F]),
        // 0.5 gauss along x, -0.25 along y, 1 along z.
        Step("the axes, advancing", [0xA8], read: [0x5D, 0x0D, 0x51, 0xF9, 0xBA, 0x1A]),
        Step("power down", [0x22, 0x03]),
      ], address: 0x1E)
    let driver = driver(bus)
    try driver.start()
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(100))
    let sample = try #require(try driver.read())
    let error = sample.field - SIMD3(-50, -25, -100)
    #expect((error * error).max().squareRoot() < 0.02)
    #expect(clock.now - sample.at == .milliseconds(25))
    driver.stop()
    bus.finish()
  }

  @Test(
    arguments: [
      [0xFF, 0x7F, 0x51, 0xF9, 0xBA, 0x1A], [0x5D, 0x0D, 0x00, 0x80, 0xBA, 0x1A], [0x5D, 0x0D, 0x51, 0xF9, 0xFF, 0x7F],
    ] as [[UInt8]])
  func `a value at the end of the scale is not a measurement`(_ bytes: [UInt8]) throws {
    let bus = PlaybackBus(
      LSM9DS1MagnetometerDriverTests.start + [
        Step("new", [0x27], read: [0x0F]), Step("the axes", [0xA8], read: bytes),
      ], address: 0x1E)
    let driver = driver(bus)
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8]) func `a hung bus gives no measurement`(_ byte: UInt8) throws {
    let bus = PlaybackBus(
      LSM9DS1MagnetometerDriverTests.start + [
        Step("new, it seems", [0x27], read: [0xFF]),
        Step("the axes", [0xA8], read: Array(repeating: byte, count: 6)),
      ], address: 0x1E)
    let driver = driver(bus)
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let bus = PlaybackBus([Step("who are you", [0x0F], read: [0x40])], address: 0x1E)
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x1e on playback identifies itself as 0x40, which is not an LSM9DS1 magnetometer (0x3d)")
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test func `the other half distinguishes the chip from a LIS3MDL`() throws {
    let world = World(start: clock.now)
    func isIt(on bus: any I2CBus) throws -> Bool {
      try MagnetometerChip.lsm9ds1Magnetometer.identity.isTrue(
        of: I2CRegisters(bus, address: 0x1E, capacity: ChipIdentity.longest))
    }
    let half = SimulatedLSM9DS1Magnetometer(name: "twin", world: world, clock: clock) { true }
    let lis3mdl = SimulatedLIS3MDL(name: "twin", world: world, clock: clock, address: 0x1E) { true }
    let lsm6dsox = SimulatedLSM6DSOX(name: "twin", world: world, clock: clock) { true }
    #expect(try isIt(on: both(world)))
    #expect(try !isIt(on: half))
    #expect(try !isIt(on: SimulatedI2CBus(name: "twin", chips: [lis3mdl, lsm6dsox])))
  }

  @Test(arguments: [5, 20, 80] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = both(world)
    // Half a period's turn at 5 Hz is two degrees.
    try PolledTwinCheck(bus: chip, address: 0x1E, world: world, clock: clock).run(
      .lsm9ds1Magnetometer, rateHz: rateHz, fieldTolerance: rateHz < 10 ? 5 : 2.5)
  }

  /// A simulated bus with both halves of one chip.
  private func both(_ world: World) -> SimulatedI2CBus {
    SimulatedI2CBus(
      name: "twin",
      chips: [
        SimulatedLSM9DS1(name: "twin", world: world, clock: clock) { true },
        SimulatedLSM9DS1Magnetometer(name: "twin", world: world, clock: clock) { true },
      ])
  }
}
