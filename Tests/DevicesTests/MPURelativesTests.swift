import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

/// Chips with the registers of the MPU-6500, and their differences.
struct MPURelativesTests {
  typealias Step = PlaybackBus.Step

  /// The writes that make such a chip fill its FIFO 100 times a second, 500 degrees per second and 4 g full scale.
  static func start(_ identity: UInt8, gyroscope: UInt8 = 0x08, filter: UInt8 = 0x03) -> [Step] {
    [
      Step("who are you", [0x75], read: [identity]),
      Step("reset", [0x6B, 0x80]),
      Step("wake up, clock from the gyroscope", [0x6B, 0x01]),
      Step("low-pass filter 42 Hz", [0x1A, 0x03]),
      Step("1 kHz divided by 10", [0x19, 0x09]),
      Step("500 degrees per second", [0x1B, gyroscope]),
      Step("4 g", [0x1C, 0x08]),
      Step("accelerometer filter", [0x1D, filter]),
      Step("interrupt cleared by any read", [0x37, 0x10]),
      Step("interrupt on data ready", [0x38, 0x01]),
      Step("gyroscope and accelerometer into the FIFO", [0x23, 0x78]),
    ] + MPUDriverTests.restartFIFO
  }

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus) -> MPUDriver {
    MPUDriver(
      ChipConnection(bus: bus, address: 0x68, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
  }

  @Test(
    arguments: [
      (0x70, 34), (0x74, 34), (0x78, 34), (0x98, 38.28), (0xA9, 38.28), (0xAE, 38.28), (0xAF, 38.28),
    ] as [(UInt8, Float)])
  func `a relative is read like an MPU-6500, except for its temperature`(_ identity: UInt8, _ celsius: Float) throws {
    // The raw value 4340 is 13 degrees above 21 at 333.87 units per degree, and 13.28 degrees above 25 at 326.8.
    let bus = PlaybackBus(
      MPURelativesTests.start(identity) + MPUDriverTests.burst(MPUDriverTests.twoFrames)
        + [Step("temperature", [0x41], read: [0x10, 0xF4])])
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 2)
    #expect(abs(batch[0].accelerometer.z - 9.80665) < 1e-4)
    #expect(abs(batch[0].gyroscope.x - radians(100 * 500 / 32768)) < 1e-6)
    #expect(abs(try #require(batch.temperatureCelsius) - celsius) < 0.01)
    bus.finish()
  }

  @Test(arguments: [0x11, 0x12] as [UInt8])
  func `frames with the temperature between both sensors are taken apart`(_ identity: UInt8) throws {
    let frame: [UInt8] = [0, 0, 0, 0, 0x20, 0, 0x12, 0x34, 0, 0x64, 0, 0, 0xFF, 0x9C]
    let bus = PlaybackBus(
      MPURelativesTests.start(identity) + MPUDriverTests.burst(frame + frame)
        + [Step("temperature", [0x41], read: [0x01, 0x47])])
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 2)
    #expect(abs(batch[1].accelerometer.z - 9.80665) < 1e-4)
    #expect(abs(batch[1].gyroscope.x - radians(100 * 500 / 32768)) < 1e-6)
    #expect(abs(batch[1].gyroscope.z + radians(100 * 500 / 32768)) < 1e-6)
    // The raw value is 327.
    #expect(abs(try #require(batch.temperatureCelsius) - 26) < 0.01)
    bus.finish()
  }

  @Test func `an ICM-20690 has its full scale one bit lower, and its FIFO size must be set`() throws {
    let bus = PlaybackBus(
      MPURelativesTests.start(0x20, gyroscope: 0x04, filter: 0xC3)
        + [
          Step("what happened", [0x3A], read: [0x01]),
          Step("as much as there is room for", [0x72], read: [0x04, 0x00]),
        ] + MPUDriverTests.restartFIFO)
    let driver = driver(bus)
    try driver.start()
    #expect(driver.model == .icm20690)
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(driver.counters.overflows == 1)
    bus.finish()
  }

  @Test(arguments: [(0x11, 1008), (0x12, 1008), (0xAF, 512), (0x98, 512)] as [(UInt8, Int)])
  func `each chip overflows at the size of its FIFO`(_ identity: UInt8, _ size: Int) throws {
    let bus = PlaybackBus(
      MPURelativesTests.start(identity)
        + [
          Step("what happened", [0x3A], read: [0x01]),
          Step("how many bytes", [0x72], read: [UInt8(size >> 8), UInt8(size & 0xFF)]),
        ] + MPUDriverTests.restartFIFO)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 0 && driver.counters.overflows == 1 && driver.counters.misreads == 0)
    bus.finish()
  }

  static let relatives: [(InertialChip, SimulatedMPU6050.Identity)] = [
    (.mpu6500, .mpu6500), (.mpu9250, .mpu9250), (.mpu9255, .mpu9255), (.mpu6515, .mpu6515), (.mpu6515, .mpu6880),
    (.icm20600, .icm20600), (.icm20602, .icm20602), (.icm20608, .icm20608), (.icm20689, .icm20689),
    (.icm20690, .icm20690), (.iam20680, .iam20680),
  ]

  @Test(arguments: MPURelativesTests.relatives.indices, [50, 200] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ index: Int, _ rateHz: Double) throws {
    let (chip, identity) = MPURelativesTests.relatives[index]
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let twin = SimulatedMPU6050(name: "twin", world: world, clock: clock, identity: identity) { true }
    try InertialTwinCheck(chip: chip, bus: twin, address: 0x68, world: world, clock: clock).run(rateHz: rateHz)
  }

  @Test func `each twin matches its catalogue entry, and has a temperature of 25 degrees`() throws {
    for (chip, identity) in MPURelativesTests.relatives {
      let world = World(start: clock.now.advanced(by: .seconds(-100)))
      let twin = SimulatedMPU6050(name: "twin", world: world, clock: clock, identity: identity) { true }
      #expect(try chip.identity.isTrue(of: I2CRegisters(twin, address: 0x68, capacity: ChipIdentity.longest)))
      let driver = driver(twin)
      try driver.start()
      clock.advance(by: .milliseconds(100))
      var batch = IMUBatch()
      try driver.read(into: &batch)
      #expect(abs(try #require(batch.temperatureCelsius) - 25) < 0.01, "\(chip.name)")
    }
  }

  @Test func `an MPU-9250 reads its magnetometer, and an MPU-6500 has none`() throws {
    for (identity, isThere) in [(SimulatedMPU6050.Identity.mpu9255, true), (.mpu9250, true), (.mpu6500, false)] {
      let world = World(start: clock.now.advanced(by: .seconds(-100)))
      let twin = SimulatedMPU6050(name: "twin", world: world, clock: clock, identity: identity) { true }
      let registers = I2CRegisters(twin, address: 0x68, capacity: 8)
      /// Makes the chip perform the transfers that its first two devices are configured for.
      func ask(_ settings: [(UInt8, UInt8)]) throws {
        for (register, value) in settings { try registers.write(value, to: register) }
        try registers.write(0x20, to: 0x6A)
        try registers.write(0x00, to: 0x6A)
      }
      try registers.write(0x01, to: 0x6B)
      try ask([(0x25, 0x8C), (0x26, 0x00), (0x27, 0x81)])
      #expect(try registers.read(0x36) == (isThere ? 0x00 : 0x01))
      guard isThere else { continue }
      #expect(try registers.read(0x49) == 0x48)
      // The test requests 16 bits and a single measurement, and then reads the field, the high byte of each axis first.
      try ask([(0x25, 0x0C), (0x26, 0x0A), (0x63, 0x11), (0x27, 0x81)])
      try ask([(0x25, 0x8C), (0x26, 0x03), (0x27, 0xD7)])
      let bytes = try registers.read(0x49, count: 7)
      let field = world.truth(at: clock.now).magneticField
      #expect(abs(Double(bytes.bigEndian(at: 0)) * 0.15 - field.y) < 0.1)
      #expect(abs(Double(bytes.bigEndian(at: 2)) * 0.15 - field.x) < 0.1)
      #expect(abs(Double(bytes.bigEndian(at: 4)) * 0.15 + field.z) < 0.1)
      #expect(bytes[6] == 0x10)
    }
  }
}
