import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct BMI088DriverTests {
  typealias Step = PlaybackBus.Step

  static let identifyGyroscope = Step("who are you", [0x00], read: [0x0F])

  /// The writes that make the gyroscope fill its FIFO 100 times a second, 500 degrees per second full scale.
  static let gyroscopeStart =
    [
      identifyGyroscope,
      Step("reset", [0x14, 0xB6]),
      Step("500 degrees per second", [0x0F, 0x02]),
      Step("100 Hz, 32 Hz wide", [0x10, 0x07]),
    ] + restartGyroscope
  static let restartGyroscope = [Step("FIFO off", [0x3E, 0x00]), Step("FIFO on", [0x3E, 0x40])]

  /// The writes that make the accelerometer fill its FIFO with a full scale of 6 g.
  static let accelerometerStart =
    [
      Step("who are you", [0x00], read: [0x1E]),
      Step("reset", [0x7E, 0xB6]),
      Step("on", [0x7D, 0x04]),
      Step("no longer suspended", [0x7C, 0x00]),
      Step("100 Hz", [0x40, 0xA8]),
      Step("6 g", [0x41, 0x01]),
      Step("drop the oldest", [0x48, 0x02]),
      Step("into the FIFO", [0x49, 0x50]),
    ] + restartAccelerometer
  static let restartAccelerometer = [Step("an empty FIFO", [0x7E, 0xB0])]
  static let temperature = Step("temperature", [0x22], read: [0x01, 0x00])

  /// A burst with 100 units about x and -100 about z per sample.
  static func rates(_ count: Int) -> [Step] {
    let frame: [UInt8] = [100, 0, 0, 0, 0x9C, 0xFF]
    return [
      Step("how many frames", [0x0E], read: [UInt8(count)]),
      Step("the frames", [0x3F], read: Array(repeating: frame, count: count).flatMap { $0 }),
    ]
  }

  /// A burst with the given numbers of units along z.
  static func force(_ units: Int16...) -> [Step] { force(units) }

  static func force(_ units: [Int16]) -> [Step] {
    frames(
      units.flatMap { [0x84, 0, 0, 0, 0, UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] })
  }

  static func frames(_ bytes: [UInt8]) -> [Step] {
    [
      Step("how many bytes", [0x24], read: [UInt8(bytes.count & 0xFF), UInt8(bytes.count >> 8)]),
      Step("the frames", [0x26], read: bytes),
    ]
  }

  /// A bus with both chips of the package.
  private final class TwoBuses: I2CBus {
    let name = "playback"
    let maximumReadLength = 4096
    /// The steps before the length of the accelerometer's FIFO is read.
    private let beforeLook: @Sendable () -> Void
    private let buses: [UInt8: PlaybackBus]

    init(_ buses: [UInt8: PlaybackBus], beforeLook: @escaping @Sendable () -> Void = {}) {
      self.buses = buses
      self.beforeLook = beforeLook
    }

    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      guard let bus = buses[address] else { throw .noAcknowledge(bus: name, address: address) }
      if case .write(let bytes)? = operations.first, bytes.first == 0x24 { beforeLook() }
      try bus.transaction(address, operations)
    }
  }

  let clock = ManualClock()

  private func driver(
    _ bus: any I2CBus, rateHz: Double = 100, dataReady: (any GPIOEdgeInput)? = nil
  ) -> BMI088Driver {
    BMI088Driver(
      ChipConnection(
        bus: bus, address: 0x68, dataReady: dataReady, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: rateHz))
  }

  /// Reads the given number of times, three sample periods apart, and returns all samples.
  private func read(
    times: Int = 1, late: Duration = .zero, gyroscope: [Step], accelerometer: [Step],
    _ check: (BMI088Driver, [IMUBatch]) throws -> Void
  ) throws {
    let gyroscope = PlaybackBus(BMI088DriverTests.gyroscopeStart + gyroscope, address: 0x68)
    let accelerometer = PlaybackBus(BMI088DriverTests.accelerometerStart + accelerometer, address: 0x18)
    let clock = clock
    let driver = driver(
      TwoBuses([0x68: gyroscope, 0x18: accelerometer], beforeLook: { clock.advance(by: late) }))
    try driver.start()
    var batches: [IMUBatch] = []
    for _ in 0..<times {
      clock.advance(by: .milliseconds(30))
      var batch = IMUBatch()
      try driver.read(into: &batch)
      batches.append(batch)
    }
    try check(driver, batches)
    gyroscope.finish()
    accelerometer.finish()
  }

  @Test func `the driver identifies, wakes, configures and reads both chips, and puts them to sleep`() throws {
    try read(
      gyroscope: BMI088DriverTests.rates(3) + [Step("suspended", [0x11, 0x80])],
      accelerometer: [BMI088DriverTests.temperature] + BMI088DriverTests.force(5461, 5461, 5461)
        + [Step("off", [0x7D, 0x00]), Step("suspended", [0x7C, 0x03])]
    ) { driver, batches in
      let batch = batches[0]
      #expect(batch.count == 3 && !batch.followsGap && driver.counters.samples == 3)
      for index in 0..<3 {
        #expect(abs(batch[index].gyroscope.x - radians(100 * 500 / 32768)) < 1e-6)
        #expect(abs(batch[index].gyroscope.z + radians(100 * 500 / 32768)) < 1e-6)
        // The value is a sixth of the full scale.
        #expect(abs(batch[index].accelerometer.z - 9.806) < 1e-3)
      }
      #expect(batch[1].at - batch[0].at == .milliseconds(10))
      #expect(batch.temperatureCelsius == 24)
      driver.stop()
    }
  }

  @Test func `accelerometer values are interpolated at the gyroscope's times`() throws {
    // The read is a quarter of a period later, so the interpolated samples shift by a quarter.
    try read(
      late: .microseconds(2500), gyroscope: BMI088DriverTests.rates(3),
      accelerometer: [BMI088DriverTests.temperature] + BMI088DriverTests.force(0, 4000, 8000)
    ) { _, batches in
      let batch = batches[0]
      try #require(batch.count == 3)
      let units = (0..<3).map { batch[$0].accelerometer.z / (6 * 9.80665 / 32768) }
      // Before the first accelerometer sample, no value can be interpolated.
      #expect(units[0] == 0 && abs(units[1] - 3000) < 0.1 && abs(units[2] - 7000) < 0.1)
    }
  }

  @Test func `a sample waits for the next accelerometer sample`() throws {
    try read(
      times: 3,
      gyroscope: BMI088DriverTests.rates(3) + BMI088DriverTests.rates(3) + BMI088DriverTests.rates(3),
      accelerometer: [BMI088DriverTests.temperature] + BMI088DriverTests.force(0, 0, 0)
        + BMI088DriverTests.force(0, 0) + BMI088DriverTests.force(0, 0, 0, 0)
    ) { driver, batches in
      #expect(batches.map(\.count) == [3, 2, 4] && driver.counters.samples == 9)
      let times = batches.flatMap { batch in (0..<batch.count).map { batch[$0].at } }
      for (earlier, later) in zip(times, times.dropFirst()) {
        #expect(abs((later - earlier).inSeconds - 0.01) < 1e-4)
      }
    }
  }

  @Test func `a sample older than all accelerometer samples is dropped`() throws {
    try read(
      gyroscope: BMI088DriverTests.rates(3),
      accelerometer: [BMI088DriverTests.temperature] + BMI088DriverTests.force(0, 0)
    ) { _, batches in #expect(batches[0].count == 2) }
  }

  @Test(arguments: [0xE4, 0x64, 0x80] as [UInt8])
  func `a full gyroscope FIFO empties both FIFOs, counts as an overflow and marks a gap`(_ status: UInt8) throws {
    try read(
      times: 2,
      gyroscope: [Step("full, or some lost", [0x0E], read: [status])] + BMI088DriverTests.restartGyroscope
        + BMI088DriverTests.rates(3),
      accelerometer: BMI088DriverTests.restartAccelerometer + [BMI088DriverTests.temperature]
        + BMI088DriverTests.force(0, 0, 0)
    ) { driver, batches in
      #expect(batches[0].count == 0 && batches[1].count == 3 && batches[1].followsGap)
      #expect(driver.counters.overflows == 1 && driver.counters.misreads == 0)
    }
  }

  @Test func `samples that do not fit into a batch wait for the next batch`() throws {
    let frames = BMI088DriverTests.rates(96)
    let force = BMI088DriverTests.force(Array(repeating: 0, count: 99))
    try read(
      times: 2,
      gyroscope: [Step("how many frames", [0x0E], read: [99]), frames[1]] + BMI088DriverTests.rates(6),
      accelerometer: [BMI088DriverTests.temperature] + force + BMI088DriverTests.force(0, 0, 0)
    ) { driver, batches in
      #expect(batches.map(\.count) == [96, 6] && driver.counters.samples == 102 && driver.counters.overflows == 0)
      let times = batches.flatMap { batch in (0..<batch.count).map { batch[$0].at } }
      for (earlier, later) in zip(times, times.dropFirst()) { #expect(later - earlier == .milliseconds(10)) }
    }
  }

  @Test func `dropped accelerometer frames empty both FIFOs`() throws {
    try read(
      gyroscope: BMI088DriverTests.rates(3) + BMI088DriverTests.restartGyroscope,
      accelerometer: [BMI088DriverTests.temperature] + BMI088DriverTests.frames([0x40, 17, 0x84, 0, 0, 0, 0, 0, 0])
        + BMI088DriverTests.restartAccelerometer
    ) { driver, batches in
      #expect(batches[0].count == 0 && batches[0].followsGap)
      #expect(driver.counters.overflows == 1 && driver.counters.misreads == 0)
    }
  }

  @Test func `accelerometer frames without samples are skipped`() throws {
    let frame: [UInt8] = [0x85, 0, 0, 0, 0, 0, 0]
    let (skipped, setting, dropped): ([UInt8], [UInt8], [UInt8]) = ([0x48, 0x01], [0x44, 1, 2, 3], [0x50, 0x01])
    let bytes = skipped + frame + setting + frame + dropped + frame
    try read(
      gyroscope: BMI088DriverTests.rates(3),
      accelerometer: [BMI088DriverTests.temperature] + BMI088DriverTests.frames(bytes)
    ) { driver, batches in #expect(batches[0].count == 3 && driver.counters.misreads == 0) }
  }

  @Test(arguments: [0x80, 0x00, 0xFF] as [UInt8])
  func `invalid frames empty both FIFOs`(_ header: UInt8) throws {
    try read(
      gyroscope: BMI088DriverTests.rates(3) + BMI088DriverTests.restartGyroscope,
      accelerometer: [BMI088DriverTests.temperature] + BMI088DriverTests.frames([header, 0, 0, 0, 0, 0, 0])
        + BMI088DriverTests.restartAccelerometer
    ) { driver, batches in
      #expect(batches[0].count == 0 && batches[0].followsGap && driver.counters.misreads == 1)
    }
  }

  @Test func `a stopped accelerometer gives no samples, and the wait for it ends`() throws {
    let empty = Step("empty", [0x24], read: [0x00, 0x80])
    try read(
      times: 2,
      gyroscope: BMI088DriverTests.rates(60) + BMI088DriverTests.rates(60) + BMI088DriverTests.restartGyroscope,
      accelerometer: [BMI088DriverTests.temperature, empty, empty] + BMI088DriverTests.restartAccelerometer
    ) { driver, batches in
      #expect(batches[0].count == 0 && batches[1].count == 0 && driver.counters.misreads == 1)
    }
  }

  @Test func `a hung bus gives no samples`() throws {
    try read(
      times: 2,
      gyroscope: [Step("zeros", [0x0E], read: [0x00]), Step("ones", [0x0E], read: [0xFF])]
        + BMI088DriverTests.restartGyroscope,
      accelerometer: [Step("ones", [0x24], read: [0xFF, 0xFF])] + BMI088DriverTests.restartAccelerometer
    ) { driver, batches in #expect(batches.allSatisfy { $0.count == 0 } && driver.counters.samples == 0) }
  }

  @Test func `a read that lost arbitration empties both FIFOs`() throws {
    var rates = BMI088DriverTests.rates(3)
    rates[1].error = .arbitrationLost(bus: "playback", address: 0x68)
    try read(
      gyroscope: rates + BMI088DriverTests.restartGyroscope, accelerometer: BMI088DriverTests.restartAccelerometer
    ) { driver, batches in #expect(batches[0].count == 0 && driver.counters.misreads == 1) }
  }

  private struct Line: GPIOEdgeInput {
    let fileDescriptor: Int32 = -1
    func takeEdges() throws(HardwareError) -> (latest: GPIOEdge, count: Int)? { nil }
    func close() {}
  }

  @Test func `a wired line signals the gyroscope's samples`() throws {
    var steps = BMI088DriverTests.gyroscopeStart
    steps.insert(
      contentsOf: [
        Step("high and driven", [0x16, 0x0D]), Step("on INT3", [0x18, 0x01]), Step("data ready", [0x15, 0x80]),
      ], at: 4)
    let gyroscope = PlaybackBus(steps, address: 0x68)
    let accelerometer = PlaybackBus(BMI088DriverTests.accelerometerStart, address: 0x18)
    try driver(TwoBuses([0x68: gyroscope, 0x18: accelerometer]), dataReady: Line()).start()
    gyroscope.finish()
    accelerometer.finish()
  }

  @Test func `a gyroscope that resets before it acknowledges causes no error`() throws {
    var steps = BMI088DriverTests.gyroscopeStart
    steps[1].error = .noAcknowledge(bus: "playback", address: 0x68)
    let gyroscope = PlaybackBus(steps, address: 0x68)
    let accelerometer = PlaybackBus(BMI088DriverTests.accelerometerStart, address: 0x18)
    try driver(TwoBuses([0x68: gyroscope, 0x18: accelerometer])).start()
    gyroscope.finish()
  }

  @Test func `the accelerometer is found at its other address, past another chip`() throws {
    let gyroscope = PlaybackBus(BMI088DriverTests.gyroscopeStart, address: 0x68)
    let other = PlaybackBus([Step("who are you", [0x00], read: [0xFA])], address: 0x18)
    let accelerometer = PlaybackBus(BMI088DriverTests.accelerometerStart, address: 0x19)
    try driver(TwoBuses([0x68: gyroscope, 0x18: other, 0x19: accelerometer])).start()
    gyroscope.finish()
    other.finish()
    accelerometer.finish()
  }

  @Test func `a gyroscope alone is refused`() {
    let gyroscope = PlaybackBus([BMI088DriverTests.identifyGyroscope], address: 0x68)
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the BMI088 at 0x68 on playback has no accelerometer, which would be at 0x18 or 0x19")
    ) { try driver(TwoBuses([0x68: gyroscope])).start() }
    gyroscope.finish()
  }

  @Test func `the error for an accelerometer with a kernel driver names the driver`() throws {
    let taken = HardwareError.busy(bus: "playback", address: 0x18, driver: nil)
    var identity = BMI088DriverTests.accelerometerStart[0]
    identity.error = taken
    let gyroscope = PlaybackBus(
      [BMI088DriverTests.identifyGyroscope, BMI088DriverTests.identifyGyroscope], address: 0x68)
    let accelerometer = PlaybackBus([identity, identity], address: 0x18)
    let buses = TwoBuses([0x68: gyroscope, 0x18: accelerometer])
    #expect(throws: taken) { try driver(buses).start() }
    // A probe does not report the gyroscope's address as in use either.
    let registers = I2CRegisters(buses, address: 0x68, capacity: ChipIdentity.longest)
    #expect(try !InertialChip.bmi088.identity.isTrue(of: registers))
    gyroscope.finish()
    accelerometer.finish()
  }

  @Test func `a temperature that has not been measured yet is unknown`() throws {
    try read(
      gyroscope: BMI088DriverTests.rates(3),
      accelerometer: [Step("no temperature", [0x22], read: [0x80, 0x00])] + BMI088DriverTests.force(0, 0, 0)
    ) { _, batches in #expect(batches[0].count == 3 && batches[0].temperatureCelsius == nil) }
  }

  @Test(
    arguments: [(.dps250, .g2, 0x03, 0x00, 3), (.dps1000, .g8, 0x01, 0x02, 12), (.dps2000, .g16, 0x00, 0x03, 24)]
      as [(
        InertialConfiguration.GyroscopeRange, InertialConfiguration.AccelerometerRange, UInt8, UInt8, Float
      )])
  func `each range has its bits and its units`(
    _ gyroscopeRange: InertialConfiguration.GyroscopeRange,
    _ accelerometerRange: InertialConfiguration.AccelerometerRange, _ gyroscopeBits: UInt8,
    _ accelerometerBits: UInt8, _ gravities: Float
  ) throws {
    var gyroscopeSteps = BMI088DriverTests.gyroscopeStart
    gyroscopeSteps[2] = Step("degrees per second", [0x0F, gyroscopeBits])
    var accelerometerSteps = BMI088DriverTests.accelerometerStart
    accelerometerSteps[5] = Step("g", [0x41, accelerometerBits])
    let gyroscope = PlaybackBus(gyroscopeSteps + BMI088DriverTests.rates(1), address: 0x68)
    let accelerometer = PlaybackBus(
      accelerometerSteps + [BMI088DriverTests.temperature] + BMI088DriverTests.force(1000), address: 0x18)
    let driver = BMI088Driver(
      ChipConnection(
        bus: TwoBuses([0x68: gyroscope, 0x18: accelerometer]), address: 0x68, clock: clock,
        pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100, gyroscopeRange: gyroscopeRange, accelerometerRange: accelerometerRange))
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    try #require(batch.count == 1)
    #expect(abs(batch[0].gyroscope.x - radians(100 * Float(gyroscopeRange.rawValue) / 32768)) < 1e-6)
    #expect(abs(batch[0].accelerometer.z - 1000 * gravities * 9.80665 / 32768) < 1e-4)
    gyroscope.finish()
    accelerometer.finish()
  }

  @Test func `another chip is refused`() {
    let gyroscope = PlaybackBus([Step("who are you", [0x00], read: [0xD1])], address: 0x68)
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x68 on playback identifies itself as 0xd1, which is not a BMI088 (0xf)")
    ) { try driver(TwoBuses([0x68: gyroscope])).start() }
    gyroscope.finish()
  }

  @Test(arguments: [100, 200, 400, 1000, 2000] as [Double])
  func `driver and simulated chips agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    try InertialTwinCheck(
      chip: .bmi088, bus: both(world, accelerometerAddress: 0x19), address: 0x68, world: world, clock: clock
    ).run(rateHz: rateHz)
  }

  @Test func `a sleep command by address alone puts both chips to sleep`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chips = both(world)
    let driver = driver(chips)
    try driver.start()
    clock.advance(by: .milliseconds(100))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count > 5)
    #expect(abs(try #require(batch.temperatureCelsius) - Float(world.temperatureCelsius)) < 0.1)
    try InertialChip.bmi088.sleep(on: chips, address: 0x68)
    clock.advance(by: .seconds(1))
    try driver.read(into: &batch)
    #expect(batch.count == 0)
    let accelerometer = I2CRegisters(chips, address: 0x18, capacity: 2)
    let power = try accelerometer.read(0x7C, count: 2)
    #expect(power[0] == 0x03 && power[1] == 0x00)
    // The chip can be started again.
    try driver.start()
    clock.advance(by: .milliseconds(100))
    try driver.read(into: &batch)
    #expect(batch.count > 5)
  }

  @Test func `the accelerometer distinguishes a BMI088 from other packages with the same gyroscope`() throws {
    let world = World(start: clock.now)
    func isIt(on bus: any I2CBus) throws -> Bool {
      try InertialChip.bmi088.identity.isTrue(of: I2CRegisters(bus, address: 0x68, capacity: ChipIdentity.longest))
    }
    let gyroscope = SimulatedBMI088Gyroscope(name: "twin", world: world, clock: clock) { true }
    let bmi160 = SimulatedBMI160(name: "twin", world: world, clock: clock, address: 0x68) { true }
    #expect(try isIt(on: both(world)))
    #expect(try isIt(on: both(world, accelerometerAddress: 0x19)))
    #expect(try !isIt(on: gyroscope))
    #expect(try !isIt(on: bmi160))
  }

  @Test func `the suspended gyroscope twin accepts only the commands to wake and to reset`() throws {
    let registers = I2CRegisters(
      SimulatedBMI088Gyroscope(name: "twin", world: World(start: clock.now), clock: clock) { true }, address: 0x68,
      capacity: 1)
    try registers.write(0x80, to: 0x11)
    try registers.write(0x02, to: 0x0F)
    #expect(try registers.read(0x0F) == 0)
    try registers.write(0x00, to: 0x11)
    try registers.write(0x02, to: 0x0F)
    #expect(try registers.read(0x0F) == 2)
    try registers.write(0x80, to: 0x11)
    try registers.write(0xB6, to: 0x14)
    #expect(try registers.read(0x11) == 0)
    #expect(try registers.read(0x0F) == 0)
  }

  /// A simulated bus with both halves of one chip.
  private func both(_ world: World, accelerometerAddress: UInt8 = 0x18) -> SimulatedI2CBus {
    SimulatedI2CBus(
      name: "twin",
      chips: [
        SimulatedBMI088Gyroscope(name: "twin", world: world, clock: clock) { true },
        SimulatedBMI088Accelerometer(name: "twin", world: world, clock: clock, address: accelerometerAddress) { true },
      ])
  }
}
