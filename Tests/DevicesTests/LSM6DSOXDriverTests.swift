import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct LSM6DSOXDriverTests {
  typealias Step = PlaybackBus.Step

  /// The writes that make the chip fill its FIFO 104 times a second, 500 degrees per second and 4 g full scale.
  static let start = [
    Step("who are you", [0x0F], read: [0x6C]),
    Step("reset", [0x12, 0x01]),
    Step("whole updates, addresses that go on", [0x12, 0x44]),
    Step("no I3C", [0x18, 0xE2]),
    Step("accelerometer at 104 Hz, 4 g", [0x10, 0x48]),
    Step("gyroscope at 104 Hz, 500 degrees per second", [0x11, 0x44]),
    Step("both into the FIFO at 104 Hz", [0x09, 0x44]),
  ]
  static let restartFIFO = [Step("FIFO off", [0x0A, 0x00]), Step("FIFO on", [0x0A, 0x06])]
  static let temperature = Step("temperature", [0x20], read: [0x00, 0x01])

  /// A word with its tag: the kind, the sample's count and even parity.
  static func word(_ kind: UInt8, _ count: UInt8, _ axes: [Int16]) -> [UInt8] {
    let tag = kind << 3 | count << 1
    return [tag | UInt8(tag.nonzeroBitCount % 2)]
      + axes.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
  }

  static func gyroscope(_ count: UInt8) -> [UInt8] { word(1, count, [1000, 0, -1000]) }
  static func accelerometer(_ count: UInt8) -> [UInt8] { word(2, count, [0, 0, 8197]) }

  static func burst(_ words: [[UInt8]], status: UInt8 = 0) -> [Step] {
    [
      Step("how many words", [0x3A], read: [UInt8(words.count & 0xFF), status | UInt8(words.count >> 8)]),
      Step("the words", [0x78], read: words.flatMap { $0 }),
    ]
  }

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus) -> LSM6DSOXDriver {
    LSM6DSOXDriver(
      ChipConnection(bus: bus, address: 0x6A, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
  }

  @Test func `the driver identifies, wakes, configures and reads the chip, and puts it to sleep`() throws {
    let bus = PlaybackBus(
      LSM6DSOXDriverTests.start + LSM6DSOXDriverTests.restartFIFO
        + LSM6DSOXDriverTests.burst([
          LSM6DSOXDriverTests.gyroscope(0), LSM6DSOXDriverTests.accelerometer(0),
          LSM6DSOXDriverTests.accelerometer(1), LSM6DSOXDriverTests.gyroscope(1),
        ]) + [LSM6DSOXDriverTests.temperature]
        + [Step("accelerometer off", [0x10, 0x00]), Step("gyroscope off", [0x11, 0x00])], address: 0x6A)
    let driver = driver(bus)
    try driver.start()
    clock.advance(by: .milliseconds(20))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 2 && driver.counters.samples == 2)
    for index in 0..<2 {
      // A unit is 17.5 mdps and 0.122 mg.
      #expect(abs(batch[index].gyroscope.x - radians(17.5)) < 1e-5)
      #expect(abs(batch[index].gyroscope.z + radians(17.5)) < 1e-5)
      #expect(abs(batch[index].accelerometer.z - 9.807) < 1e-3)
    }
    #expect(batch.temperatureCelsius == 26)
    #expect(abs((batch[1].at - batch[0].at).inSeconds - 1 / 104.0) < 1e-5)
    driver.stop()
    bus.finish()
  }

  @Test func `a sample at an end of the scale is left out, and the other samples keep their times`() throws {
    typealias Tests = LSM6DSOXDriverTests
    let bus = PlaybackBus(
      Tests.start + Tests.restartFIFO
        + Tests.burst([
          Tests.gyroscope(0), Tests.accelerometer(0), Tests.gyroscope(1), Tests.word(2, 1, [0, .max, 8197]),
          Tests.word(1, 2, [1000, 0, .min]), Tests.accelerometer(2), Tests.gyroscope(3), Tests.accelerometer(3),
        ]) + [Tests.temperature], address: 0x6A)
    let driver = driver(bus)
    try driver.start()
    clock.advance(by: .milliseconds(40))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    try #require(batch.count == 2)
    #expect(abs((batch[1].at - batch[0].at).inSeconds - 3 / 104.0) < 1e-5)
    #expect(abs(batch[1].accelerometer.z - 9.807) < 1e-3 && abs(batch[1].gyroscope.x - radians(17.5)) < 1e-5)
    bus.finish()
  }

  @Test func `the halves of a sample are joined across two reads, and a single half is dropped`() throws {
    let (gyroscope, accelerometer) = (LSM6DSOXDriverTests.gyroscope, LSM6DSOXDriverTests.accelerometer)
    let bus = PlaybackBus(
      LSM6DSOXDriverTests.start + LSM6DSOXDriverTests.restartFIFO
        + LSM6DSOXDriverTests.burst([gyroscope(0), accelerometer(0), gyroscope(1)])
        + [LSM6DSOXDriverTests.temperature]
        + LSM6DSOXDriverTests.burst([accelerometer(1), gyroscope(2), gyroscope(3), accelerometer(3)]), address: 0x6A)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 1)
    try driver.read(into: &batch)
    #expect(batch.count == 2 && driver.counters.misreads == 0)
    bus.finish()
  }

  @Test(arguments: [0x40, 0x08] as [UInt8])
  func `an overrun empties the FIFO, is counted and marks a gap`(_ status: UInt8) throws {
    let bus = PlaybackBus(
      LSM6DSOXDriverTests.start + LSM6DSOXDriverTests.restartFIFO
        + [Step("how many words", [0x3A], read: [0xB6, status | 1])] + LSM6DSOXDriverTests.restartFIFO
        + LSM6DSOXDriverTests.burst([LSM6DSOXDriverTests.gyroscope(0), LSM6DSOXDriverTests.accelerometer(0)])
        + [LSM6DSOXDriverTests.temperature], address: 0x6A)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 0 && driver.counters.overflows == 1)
    try driver.read(into: &batch)
    #expect(batch.count == 1 && batch.followsGap)
    bus.finish()
  }

  @Test(
    arguments: [
      [0x08, 0, 0, 0, 0, 0, 0], [0x19, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0],
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
    ] as [[UInt8]])
  func `an impossible word restarts the FIFO`(_ word: [UInt8]) throws {
    let bus = PlaybackBus(
      LSM6DSOXDriverTests.start + LSM6DSOXDriverTests.restartFIFO
        + LSM6DSOXDriverTests.burst([LSM6DSOXDriverTests.gyroscope(0), LSM6DSOXDriverTests.accelerometer(0), word])
        + LSM6DSOXDriverTests.restartFIFO, address: 0x6A)
    let driver = driver(bus)
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 0 && batch.followsGap && driver.counters.misreads == 1 && driver.counters.samples == 0)
    bus.finish()
  }

  @Test func `a chip of another family is refused by its identity`() {
    let bus = PlaybackBus([Step("who are you", [0x0F], read: [0x69])], address: 0x6A)
    let driver = driver(bus)
    do throws(HardwareError) {
      try driver.start()
      Issue.record("started")
    } catch {
      #expect("\(error)".contains("0x69"))
    }
    bus.finish()
  }

  @Test(arguments: [52, 104, 416, 1666]) func `driver and simulated chip agree on rate, units and axes`(
    _ rateHz: Double
  ) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedLSM6DSOX(name: "twin", world: world, clock: clock) { true }
    let chosen = try #require(InertialChip.all.first { $0.name == "lsm6dsox" })
    try InertialTwinCheck(chip: chosen, bus: chip, address: 0x6A, world: world, clock: clock).run(rateHz: rateHz)
  }
}
