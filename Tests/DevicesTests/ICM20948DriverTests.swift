import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct ICM20948DriverTests {
  typealias Step = PlaybackBus.Step

  /// The writes that make the chip fill its FIFO 102 times a second, 500 degrees per second and 4 g full scale.
  static let start = [
    Step("the first bank", [0x7F, 0x00]),
    Step("who are you", [0x00], read: [0xEA]),
    Step("reset", [0x06, 0x80]),
    Step("wake up, with the best clock", [0x06, 0x01]),
    Step("bank 2", [0x7F, 0x20]),
    Step("both together", [0x09, 0x01]),
    Step("gyroscope at 1125 Hz divided by 11", [0x00, 0x0A]),
    Step("500 degrees per second, 24 Hz", [0x01, 0x23]),
    Step("accelerometer's divider, its high bits", [0x10, 0x00]),
    Step("accelerometer at 1125 Hz divided by 11", [0x11, 0x0A]),
    Step("4 g, 24 Hz", [0x14, 0x23]),
    Step("the first bank again", [0x7F, 0x00]),
    Step("pulses, bypass", [0x0F, 0x02]),
    Step("stop when full", [0x69, 0x1F]),
    Step("accelerometer and gyroscope into the FIFO", [0x67, 0x1E]),
  ]
  static let restartFIFO = [
    Step("FIFO off", [0x03, 0x00]), Step("FIFO in reset", [0x68, 0x1F]), Step("let go", [0x68, 0x00]),
    Step("FIFO on", [0x03, 0x40]),
  ]
  /// The temperature is 10 degrees above 21.
  static let temperature = Step("temperature", [0x39], read: [0x0D, 0x0B])

  /// 1 g down the z axis, 100 units about x, -100 about z.
  static let frame: [UInt8] = [0, 0, 0, 0, 0x20, 0x00, 0x00, 0x64, 0, 0, 0xFF, 0x9C]

  static func look(_ count: Int, overflow: UInt8 = 0) -> [Step] {
    [
      Step("has it run over", [0x1B], read: [overflow]),
      Step("how many bytes", [0x70], read: [UInt8(count >> 8), UInt8(count & 0xFF)]),
    ]
  }

  static func burst(_ count: Int) -> [Step] {
    look(12 * count) + [Step("the frames", [0x72], read: Array(repeating: frame, count: count).flatMap { $0 })]
  }

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus) -> ICM20948Driver {
    ICM20948Driver(
      ChipConnection(bus: bus, address: 0x69, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
  }

  /// Reads the given number of times; passes on the samples of each reading.
  private func read(
    times: Int = 1, _ steps: [Step], _ check: (ICM20948Driver, [IMUBatch]) throws -> Void
  ) throws {
    let bus = PlaybackBus(ICM20948DriverTests.start + ICM20948DriverTests.restartFIFO + steps, address: 0x69)
    let driver = driver(bus)
    try driver.start()
    var batches: [IMUBatch] = []
    for _ in 0..<times {
      clock.advance(by: .milliseconds(20))
      var batch = IMUBatch()
      try driver.read(into: &batch)
      batches.append(batch)
    }
    try check(driver, batches)
    bus.finish()
  }

  @Test func `the driver identifies, wakes, configures and reads the chip, and puts it to sleep`() throws {
    let sleep = [Step("the first bank", [0x7F, 0x00]), Step("sleep", [0x06, 0x40])]
    try read(ICM20948DriverTests.burst(2) + [ICM20948DriverTests.temperature] + sleep) { driver, batches in
      let batch = batches[0]
      #expect(batch.count == 2 && driver.counters.samples == 2)
      let rate = radians(100 * 500 / 32768)
      #expect(abs(batch[1].gyroscope.x - rate) < 1e-6 && abs(batch[1].gyroscope.z + rate) < 1e-6)
      #expect(abs(batch[1].accelerometer.z - 9.80665) < 1e-4)
      #expect(abs((batch.temperatureCelsius ?? .nan) - 31) < 0.01)
      #expect(abs((batch[1].at - batch[0].at).inSeconds - 11 / 1125.0) < 1e-6)
      driver.stop()
    }
  }

  private struct Line: GPIOEdgeInput {
    let fileDescriptor: Int32 = -1
    func takeEdges() throws(HardwareError) -> (latest: GPIOEdge, count: Int)? { nil }
    func close() {}
  }

  @Test func `with a wired line, the chip signals each sample with a pulse`() throws {
    var steps = ICM20948DriverTests.start
    steps.insert(Step("data ready", [0x11, 0x01]), at: 13)
    let bus = PlaybackBus(steps + ICM20948DriverTests.restartFIFO, address: 0x69)
    let driver = ICM20948Driver(
      ChipConnection(bus: bus, address: 0x69, dataReady: Line(), clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
    try driver.start()
    bus.finish()
  }

  @Test(
    arguments: [
      (100, 1125.0 / 11, 4), (4, 1125.0 / 256, 6), (200, 225, 3), (50, 1125.0 / 23, 4), (500, 562.5, 1),
      (1000, 1125, 7), (3000, 1125, 7), (0.1, 1125.0 / 256, 6),
    ] as [(Double, Double, UInt8)])
  func `the rate is not slower than the requested rate, and the filter prevents aliasing`(
    _ requested: Double, _ hertz: Double, _ filter: UInt8
  ) {
    let rate = ICM20948Rate(nearest: requested)
    #expect(rate.hertz == hertz && rate.filter == filter, "\(rate.hertz) Hz, filter \(rate.filter)")
  }

  @Test func `an empty FIFO gives an empty batch`() throws {
    try read(ICM20948DriverTests.look(0)) { driver, batches in
      #expect(batches[0].count == 0 && !batches[0].followsGap && driver.counters == InertialCounters())
    }
  }

  @Test(arguments: [(12, 0x01), (504, 0x00), (512, 0x00), (4092, 0x00)] as [(Int, UInt8)])
  func `an overflow empties the FIFO, is counted and marks a gap`(_ count: Int, _ status: UInt8) throws {
    let steps =
      ICM20948DriverTests.look(count, overflow: status) + ICM20948DriverTests.restartFIFO
      + ICM20948DriverTests.burst(1) + [ICM20948DriverTests.temperature]
    try read(times: 2, steps) { driver, batches in
      #expect(batches[0].count == 0 && batches[0].followsGap && driver.counters.overflows == 1)
      #expect(batches[1].count == 1 && batches[1].followsGap)
    }
  }

  @Test func `frames that the bus has damaged give no samples`() throws {
    let steps =
      // The chip is still writing a frame, which is complete at the next look.
      ICM20948DriverTests.look(18) + ICM20948DriverTests.burst(2) + [ICM20948DriverTests.temperature]
      // A repeated read took seven bytes too many.
      + ICM20948DriverTests.look(17) + ICM20948DriverTests.look(41) + ICM20948DriverTests.restartFIFO
      + ICM20948DriverTests.burst(2)
    try read(times: 5, steps) { driver, batches in
      #expect(batches.map(\.count) == [0, 2, 0, 0, 2])
      #expect(batches[4].followsGap && driver.counters.misreads == 1 && driver.counters.overflows == 0)
    }
  }

  @Test func `a read that lost arbitration restarts the FIFO`() throws {
    let lost = HardwareError.arbitrationLost(bus: "playback", address: 0x69)
    let steps =
      ICM20948DriverTests.look(12) + [Step("lost", [0x72], read: ICM20948DriverTests.frame, error: lost)]
      + ICM20948DriverTests.restartFIFO
    try read(steps) { driver, batches in
      #expect(batches[0].count == 0 && driver.counters.misreads == 1)
    }
  }

  @Test func `a hung bus gives no samples`() throws {
    let zeros = ICM20948DriverTests.look(0)
    let ones = ICM20948DriverTests.look(0xFFFF, overflow: 0xFF) + ICM20948DriverTests.restartFIFO
    try read(times: 2, zeros + ones) { driver, batches in
      #expect(batches.allSatisfy { $0.count == 0 } && driver.counters.samples == 0)
    }
  }

  @Test func `a chip of another family is refused by its identity`() {
    let bus = PlaybackBus(
      [Step("the first bank", [0x7F, 0x00]), Step("who are you", [0x00], read: [0xD1])], address: 0x69)
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x69 on playback identifies itself as 0xd1, which is not an ICM-20948 (0xea)")
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test func `a chip that was left in another bank is found`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedICM20948(name: "twin", world: world, clock: clock) { true }
    try I2CRegisters(chip, address: 0x69, capacity: 1).write(0x20, to: 0x7F)
    let driver = driver(chip)
    try driver.start()
    clock.advance(by: .milliseconds(100))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect(batch.count == 10)
    #expect(abs((batch.temperatureCelsius ?? .nan) - Float(world.temperatureCelsius)) < 0.1)
  }

  @Test(arguments: [56.25, 112.5, 225, 1125] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedICM20948(name: "twin", world: world, clock: clock) { true }
    try InertialTwinCheck(chip: .icm20948, bus: chip, address: 0x69, world: world, clock: clock).run(rateHz: rateHz)
  }
}
