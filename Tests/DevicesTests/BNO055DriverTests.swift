import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct BNO055DriverTests {
  typealias Step = PlaybackBus.Step

  static let identify = Step("who are you", [0x00], read: [0xA0])

  /// The writes that bring the chip to the configuration mode, whatever its state.
  static let reset = [
    identify,
    Step("wake", [0x3E, 0x00]),
    Step("reset", [0x3F, 0x20]),
    identify,
  ]

  /// The writes that make the chip measure for 100 reads a second, with ranges of 500 degrees per second and 4 g.
  static let configure = [
    Step("the version", [0x04], read: [0x11, 0x03]),
    Step("m/s2, degrees", [0x3B, 0x00]),
    // The read register contains bits without meaning.
    Step("has it that", [0x3B], read: [0x28]),
    Step("the second page", [0x07, 0x01]),
    Step("has it that", [0x07], read: [0x01]),
    Step("4 g, 62.5 Hz wide", [0x08, 0x0D]),
    Step("has it that", [0x08], read: [0x0D]),
    Step("500 degrees per second, 47 Hz wide", [0x0A, 0x1A]),
    Step("has it that", [0x0A], read: [0x1A]),
    Step("the first page", [0x07, 0x00]),
    Step("has it that", [0x07], read: [0x00]),
    Step("accelerometer and gyroscope", [0x3D, 0x05]),
    Step("has it that", [0x3D], read: [0x15]),
  ]
  static let start = reset + configure
  static let temperature = Step("temperature", [0x34], read: [0xFB])

  /// A read of `force` accelerometer units along z, `rate` gyroscope units about x and -100 about z.
  static func look(_ force: Int16 = 981, _ rate: Int16 = 100) -> [Step] {
    func bytes(_ value: Int16) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)] }
    return [
      Step("the accelerometer", [0x08], read: [0, 0, 0, 0] + bytes(force)),
      Step("the gyroscope", [0x14], read: bytes(rate) + [0, 0, 0x9C, 0xFF]),
    ]
  }

  /// The reads up to the first sample, which exists once two reads agree.
  static let firstSample = look() + look() + [temperature, temperature]

  static let timedOut = HardwareError.timedOut("address 0x28 on playback")

  static func broken(_ error: HardwareError = BNO055DriverTests.timedOut) -> Step {
    Step("the accelerometer", [0x08], read: [0, 0, 0, 0, 0, 0], error: error)
  }

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus, rateHz: Double = 100) -> BNO055Driver {
    BNO055Driver(
      ChipConnection(bus: bus, address: 0x28, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: rateHz))
  }

  /// Reads every 10 ms; returns all samples.
  private func read(
    times: Int, _ steps: [Step], start: [Step] = BNO055DriverTests.start,
    _ check: (BNO055Driver, [IMUBatch]) throws -> Void
  ) throws {
    let bus = PlaybackBus(start + steps, address: 0x28)
    let driver = driver(bus)
    try driver.start()
    var batches: [IMUBatch] = []
    for _ in 0..<times {
      clock.advance(by: .milliseconds(10))
      var batch = IMUBatch()
      try driver.read(into: &batch)
      batches.append(batch)
    }
    try check(driver, batches)
    bus.finish()
  }

  @Test func `the driver identifies, resets, configures, reads and suspends the chip`() throws {
    let sleep = [
      Step("the first page", [0x07, 0x00]), Step("configuring", [0x3D, 0x00]), Step("suspended", [0x3E, 0x02]),
    ]
    try read(times: 1, BNO055DriverTests.firstSample + sleep) { driver, batches in
      let batch = batches[0]
      try #require(batch.count == 1)
      #expect(abs(batch[0].accelerometer.z - 9.81) < 1e-5 && batch[0].accelerometer.x == 0)
      #expect(abs(batch[0].gyroscope.x - radians(100 * 500 / 32768)) < 1e-6)
      #expect(abs(batch[0].gyroscope.z + radians(100 * 500 / 32768)) < 1e-6)
      // The accelerometer measures 125 times a second, and a new sample is half of that period old.
      #expect(clock.now - batch[0].at == .milliseconds(4))
      #expect(batch.temperatureCelsius == -5 && driver.counters.samples == 1 && !batch.followsGap)
      #expect(!driver.signalsSamples)
      driver.stop()
    }
  }

  @Test func `a temperature with a flipped bit is read again`() throws {
    let flipped = Step("with its top bit flipped", [0x34], read: [0x7B])
    let again = Step("as it is", [0x34], read: [0xFC])
    // The value changes once in 51 samples.
    let samples = (0..<51).flatMap { BNO055DriverTests.look(981, $0 % 2 == 0 ? 101 : 100) }
    try read(
      times: 52, BNO055DriverTests.firstSample + samples + [flipped, again, again]
    ) { _, batches in
      #expect(batches.first?.temperatureCelsius == -5)
      #expect(batches.last?.temperatureCelsius == -4)
    }
    // Even the first reading is not used before a second one confirms it.
    let first = BNO055DriverTests.look() + BNO055DriverTests.look() + [flipped, again, again]
    try read(times: 1, first) { _, batches in #expect(batches.last?.temperatureCelsius == -4) }
  }

  @Test func `the start takes as long as the chip's reset`() throws {
    let bus = PlaybackBus(BNO055DriverTests.start, address: 0x28)
    let before = clock.now
    try driver(bus).start()
    #expect(clock.now - before >= .milliseconds(650 + 19 + 7))
    bus.finish()
  }

  @Test func `the start waits for a chip that was just switched on, up to a limit`() throws {
    let gone = HardwareError.noAcknowledge(bus: "playback", address: 0x28)
    var silent = BNO055DriverTests.identify
    silent.error = gone
    let late = PlaybackBus([silent, silent, silent] + BNO055DriverTests.start, address: 0x28)
    try driver(late).start()
    late.finish()
    // The chip is silent for a second of reads every 50 ms.
    let never = PlaybackBus(Array(repeating: silent, count: 21), address: 0x28)
    #expect(throws: gone) { try driver(never).start() }
    never.finish()
  }

  @Test func `a chip that resets before it acknowledges causes no error`() throws {
    var start = BNO055DriverTests.start
    start[2].error = .noAcknowledge(bus: "playback", address: 0x28)
    let bus = PlaybackBus(start, address: 0x28)
    try driver(bus).start()
    bus.finish()
  }

  @Test func `a chip that was left at its other register page is found`() throws {
    let page = [
      Step("nothing of that page", [0x00], read: [0x00]), Step("which page", [0x07], read: [0x01]),
      Step("the first page", [0x07, 0x00]),
    ]
    let bus = PlaybackBus(page + BNO055DriverTests.start, address: 0x28)
    try driver(bus).start()
    bus.finish()
  }

  @Test func `newer firmware uses the data sheet's units at any range`() throws {
    var start = BNO055DriverTests.start
    start[4] = Step("the version", [0x04], read: [0x14, 0x03])
    start[11] = Step("2000 degrees per second, 47 Hz wide", [0x0A, 0x18])
    start[12] = Step("has it that", [0x0A], read: [0x18])
    try read(times: 1, BNO055DriverTests.firstSample, start: start) { _, batches in
      try #require(batches[0].count == 1)
      #expect(abs(batches[0][0].gyroscope.x - radians(100 / 16)) < 1e-6)
    }
  }

  @Test(
    arguments: [(.dps250, .g2, 0x1B, 0x0C), (.dps1000, .g8, 0x19, 0x0E), (.dps2000, .g16, 0x18, 0x0F)]
      as [(InertialConfiguration.GyroscopeRange, InertialConfiguration.AccelerometerRange, UInt8, UInt8)])
  func `each range has its bits, and the gyroscope has its own units`(
    _ gyroscope: InertialConfiguration.GyroscopeRange, _ accelerometer: InertialConfiguration.AccelerometerRange,
    _ gyroscopeBits: UInt8, _ accelerometerBits: UInt8
  ) throws {
    var start = BNO055DriverTests.start
    start[9] = Step("accelerometer", [0x08, accelerometerBits])
    start[10] = Step("has it that", [0x08], read: [accelerometerBits])
    start[11] = Step("gyroscope", [0x0A, gyroscopeBits])
    start[12] = Step("has it that", [0x0A], read: [gyroscopeBits])
    let bus = PlaybackBus(start + BNO055DriverTests.firstSample, address: 0x28)
    let driver = BNO055Driver(
      ChipConnection(bus: bus, address: 0x28, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100, gyroscopeRange: gyroscope, accelerometerRange: accelerometer))
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    try #require(batch.count == 1)
    #expect(abs(batch[0].gyroscope.x - radians(100 * Float(gyroscope.rawValue) / 32768)) < 1e-6)
    #expect(abs(batch[0].accelerometer.z - 9.81) < 1e-5)
    bus.finish()
  }

  @Test func `the chip is not read before the next sample is due`() throws {
    let bus = PlaybackBus(
      BNO055DriverTests.start + BNO055DriverTests.firstSample + BNO055DriverTests.look(982), address: 0x28)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    var counts: [Int] = []
    for _ in 0..<3 {
      try driver.read(into: &batch)
      counts.append(batch.count)
      clock.advance(by: .milliseconds(6))
    }
    #expect(counts == [1, 0, 1])
    bus.finish()
  }

  @Test func `a controller that repeats its values gives no samples`() throws {
    let steps = BNO055DriverTests.firstSample + BNO055DriverTests.look() + BNO055DriverTests.look()
    try read(times: 3, steps) { driver, batches in
      #expect(batches.map(\.count) == [1, 0, 0] && driver.counters.samples == 1 && driver.counters.misreads == 0)
    }
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8]) func `a hung bus gives no samples`(_ byte: UInt8) throws {
    let look = ([0x08, 0x14] as [UInt8]).map { Step("the same bits", [$0], read: Array(repeating: byte, count: 6)) }
    try read(times: 2, look + look + look + look) { driver, batches in
      #expect(batches.allSatisfy { $0.count == 0 } && driver.counters.samples == 0)
    }
  }

  @Test(
    arguments: [
      .timedOut("address 0x28 on playback"), .noAcknowledge(bus: "playback", address: 0x28),
      .system("transfer to 0x28 on playback", errno: 5),
    ] as [HardwareError])
  func `a transfer that fails on the bus is repeated`(_ error: HardwareError) throws {
    var version = BNO055DriverTests.configure[0]
    version.error = error
    var units = BNO055DriverTests.configure[1]
    units.error = error
    var start = BNO055DriverTests.start
    // The chip gets the unit setting twice; the first write did not take effect.
    start.insert(contentsOf: [units, units], at: 5)
    start.insert(version, at: 4)
    let broken = BNO055DriverTests.broken(error)
    var steps = BNO055DriverTests.firstSample
    steps.insert(broken, at: 2)
    steps.insert(contentsOf: [broken, broken], at: 0)
    try read(times: 1, steps, start: start) { driver, batches in
      #expect(batches[0].count == 1 && driver.counters.misreads == 0)
    }
  }

  @Test func `a setting that the chip has not accepted is written again`() throws {
    var start = BNO055DriverTests.start
    start.insert(contentsOf: [start[5], Step("has it that", [0x3B], read: [0x80])], at: 5)
    let bus = PlaybackBus(start, address: 0x28)
    try driver(bus).start()
    bus.finish()
  }

  @Test func `a chip that does not keep its settings is an error`() {
    let units = [BNO055DriverTests.configure[1], Step("has it that", [0x3B], read: [0x80])]
    let bus = PlaybackBus(
      BNO055DriverTests.reset + Array(BNO055DriverTests.configure[..<1]) + units + units + units, address: 0x28)
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the BNO055 at 0x28 on playback does not keep values written to its register 0x3b; a bus without clock "
          + "stretching, as on a Raspberry Pi, breaks transfers: connect the chip by i2c-gpio")
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test func `repeated failed reads leave a gap`() throws {
    let broken = Array(repeating: BNO055DriverTests.broken(), count: 4 * 3)
    try read(times: 6, BNO055DriverTests.firstSample + broken + BNO055DriverTests.look(985)) { driver, batches in
      #expect(batches.map(\.count) == [1, 0, 0, 0, 0, 1] && batches[5].followsGap)
      #expect(driver.counters.misreads == 4 && driver.counters.samples == 2)
    }
  }

  @Test func `a chip that stays silent is an error`() throws {
    let broken = Array(repeating: BNO055DriverTests.broken(), count: 5 * 3)
    let bus = PlaybackBus(BNO055DriverTests.start + broken, address: 0x28)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    for _ in 0..<4 { try driver.read(into: &batch) }
    #expect(throws: BNO055DriverTests.timedOut) { try driver.read(into: &batch) }
    bus.finish()
  }

  @Test func `a missing bus is an error at once`() throws {
    let gone = HardwareError.disconnected("playback")
    let bus = PlaybackBus(BNO055DriverTests.start + [BNO055DriverTests.broken(gone)], address: 0x28)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    #expect(throws: gone) { try driver.read(into: &batch) }
    bus.finish()
  }

  @Test(arguments: [(981, 228), (981, -32668), (-31787, 100), (1109, 100), (5000, 100)] as [(Int16, Int16)])
  func `a reading with a wrong bit is not used`(_ force: Int16, _ rate: Int16) throws {
    let steps =
      BNO055DriverTests.firstSample + BNO055DriverTests.look(force, rate) + BNO055DriverTests.look(983, 101)
    try read(times: 2, steps) { driver, batches in
      try #require(batches.map(\.count) == [1, 1])
      #expect(abs(batches[1][0].accelerometer.z - 9.83) < 1e-5)
      #expect(abs(batches[1][0].gyroscope.x - radians(101 * 500 / 32768)) < 1e-6)
      #expect(driver.counters.misreads == 0 && !batches[1].followsGap)
    }
  }

  @Test func `a sudden change is used once a second reading confirms it`() throws {
    let steps =
      BNO055DriverTests.firstSample + BNO055DriverTests.look(3000, 20000) + BNO055DriverTests.look(3001, 20050)
    try read(times: 2, steps) { _, batches in
      try #require(batches.map(\.count) == [1, 1])
      #expect(abs(batches[1][0].accelerometer.z - 30.01) < 1e-4)
    }
  }

  @Test func `readings that do not agree give no sample and mark a gap`() throws {
    let steps =
      BNO055DriverTests.firstSample + BNO055DriverTests.look(981, 5000) + BNO055DriverTests.look(981, -9000)
      + BNO055DriverTests.look(2000, 100) + BNO055DriverTests.look(990, 110)
    try read(times: 3, steps) { driver, batches in
      #expect(batches.map(\.count) == [1, 0, 1] && batches[2].followsGap)
      #expect(driver.counters.misreads == 1 && driver.counters.samples == 2)
    }
  }

  @Test func `another chip is refused`() {
    let other = Step("who are you", [0x00], read: [0xFB])
    let bus = PlaybackBus([other, Step("which page", [0x07], read: [0x00]), other], address: 0x28)
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x28 on playback identifies itself as 0xfb, which is not a BNO055 (0xa0)")
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test func `a sleep without waiting repeats until the chip sleeps`() throws {
    let suspend = Step("suspended", [0x3E, 0x02])
    let bus = PlaybackBus(
      [
        BNO055DriverTests.identify, Step("configuring", [0x3D, 0x00]), suspend, Step("is it", [0x3E], read: [0x00]),
        Step("suspended", [0x3E, 0x02], error: BNO055DriverTests.timedOut), suspend,
        Step("is it", [0x3E], read: [0x02]),
      ], address: 0x28)
    try InertialChip.bno055.sleep(on: bus, address: 0x28)
    bus.finish()
  }

  @Test(arguments: [25, 50, 100] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBNO055(name: "twin", world: world, clock: clock) { true }
    #expect(InertialChip.bno055.rate(nearest: rateHz) == rateHz)
    let driver = InertialChip.bno055.driver(
      ChipConnection(bus: chip, address: 0x28, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: rateHz, gyroscopeRange: .dps1000, accelerometerRange: .g8))
    var batch = IMUBatch()
    // The chip can be started again, whatever put it to sleep.
    for round in 0..<3 {
      try driver.start()
      let began = clock.now
      let before = driver.counters
      var count = 0
      var worst = (rates: 0.0, force: 0.0)
      var celsius: Float?
      // The chip is read more often than it measures, as the hub does.
      for _ in 0..<400 {
        clock.advance(by: .nanoseconds(Int64(0.75e9 / rateHz)))
        try driver.read(into: &batch)
        count += batch.count
        celsius = batch.temperatureCelsius ?? celsius
        for index in 0..<batch.count {
          let truth = world.truth(at: batch[index].at)
          let rates = SIMD3<Double>(batch[index].gyroscope) - truth.rates
          let force = SIMD3<Double>(batch[index].accelerometer) - truth.specificForce
          worst.rates = max(worst.rates, rates.max(), -rates.min())
          worst.force = max(worst.force, force.max(), -force.min())
        }
      }
      #expect(abs(Double(count) - (clock.now - began).inSeconds * rateHz) < 3, "\(count)")
      #expect(driver.counters.samples == before.samples + count && driver.counters.misreads == before.misreads)
      #expect(worst.rates < 0.02 && worst.force < 0.2, "\(worst)")
      #expect(celsius == Float(world.temperatureCelsius))
      // A sleeping chip measures nothing.
      if round == 0 { driver.stop() } else { try InertialChip.bno055.sleep(on: chip, address: 0x28) }
      for _ in 0..<3 {
        clock.advance(by: .seconds(1))
        try driver.read(into: &batch)
        #expect(batch.count == 0)
      }
    }
  }

  @Test func `the twin ignores commands during a reset, and configuration writes while it measures`() throws {
    let world = World(start: clock.now)
    let chip = SimulatedBNO055(name: "twin", world: world, clock: clock) { true }
    let registers = I2CRegisters(chip, address: 0x28, capacity: 16)
    try registers.write(0x20, to: 0x3F)
    #expect(try registers.read(0x00) == 0)
    clock.advance(by: .milliseconds(650))
    #expect(try registers.read(0x00) == 0xA0)
    // The version is 3.11, which Linux's driver knows.
    #expect(try Array(registers.read(0x04, count: 2)) == [0x11, 0x03])
    try registers.write(0x0C, to: 0x3D)
    clock.advance(by: .milliseconds(20))
    try registers.write(0x82, to: 0x3B)
    #expect(try registers.read(0x3B) == 0x80)
    try registers.write(0x00, to: 0x3D)
    try registers.write(0x82, to: 0x3B)
    #expect(try registers.read(0x3B) == 0x80)
    clock.advance(by: .milliseconds(20))
    try registers.write(0x82, to: 0x3B)
    #expect(try registers.read(0x3B) == 0x82)
    // The chip's number is on the other register page.
    try registers.write(0x01, to: 0x07)
    #expect(try Set(registers.read(0x50, count: 16)).count == 16)
  }

  @Test func `the twin's fusion uses the requested units, and its other modes the units of the range`() throws {
    var world = World(start: clock.now)
    world.turntable = World.Turntable(rollRadians: 0, pitchRadians: 0, yawRadians: 0, radiansPerSecond: 1)
    world.noiseScale = 0
    let chip = SimulatedBNO055(name: "twin", world: world, clock: clock) { true }
    let registers = I2CRegisters(chip, address: 0x28, capacity: 6)
    func aboutZ(mode: UInt8, units: UInt8) throws -> Int16 {
      try registers.write(0x00, to: 0x3D)
      clock.advance(by: .milliseconds(20))
      try registers.write(units, to: 0x3B)
      try registers.write(mode, to: 0x3D)
      clock.advance(by: .milliseconds(100))
      return try registers.read(0x14, count: 6).littleEndian(at: 4)
    }
    #expect(try abs(aboutZ(mode: 0x0C, units: 0x82) - 900) <= 1)
    // One radian per second is 57.2958 degrees per second.
    #expect(try abs(aboutZ(mode: 0x0C, units: 0x80) - 917) <= 1)
    // The range is 2000 degrees per second, as after a reset.
    #expect(try abs(aboutZ(mode: 0x07, units: 0x80) - 939) <= 1)
    #expect(try abs(aboutZ(mode: 0x07, units: 0x82) - 939) <= 1)
  }
}
