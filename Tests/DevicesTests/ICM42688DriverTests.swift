import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct ICM42688DriverTests {
  typealias Step = PlaybackBus.Step

  /// The writes that make the chip fill its FIFO 100 times a second, 500 degrees per second and 4 g full scale.
  static let start = [
    Step("the first bank", [0x76, 0x00]),
    Step("who are you", [0x75], read: [0x47]),
    Step("reset", [0x11, 0x01]),
    Step("high bytes first, count in bytes", [0x4C, 0x32]),
    Step("how the interface is", [0x4D], read: [0x91]),
    Step("the full scale stays", [0x4D, 0x51]),
    Step("gyroscope at 100 Hz, 500 degrees per second", [0x4F, 0x48]),
    Step("accelerometer at 100 Hz, 4 g", [0x50, 0x48]),
    Step("half the rate as bandwidth", [0x52, 0x00]),
    Step("both into the FIFO", [0x5F, 0x07]),
    Step("both on", [0x4E, 0x0F]),
    Step("the newest stay", [0x16, 0x40]),
    flush,
  ]
  static let flush = Step("an empty FIFO", [0x4B, 0x02])
  /// The temperature is 5 degrees above 25.
  static let temperature = Step("temperature", [0x1D], read: [0x02, 0x96])

  /// 1 g down the z axis, 100 units about x, -100 about z; then the temperature and the time.
  static let packet: [UInt8] = [0x68, 0, 0, 0, 0, 0x20, 0x00, 0x00, 0x64, 0, 0, 0xFF, 0x9C, 0x0A, 0x12, 0x34]
  static let nothing: [UInt8] = [0x68, 0, 0, 0, 0, 0x20, 0x00, 0x80, 0x00, 0x80, 0x00, 0x80, 0x00, 0x0A, 0x12, 0x34]

  static func burst(_ packets: [UInt8]) -> [Step] {
    [
      Step("how many bytes", [0x2D], read: [0x08, UInt8(packets.count >> 8), UInt8(packets.count & 0xFF)]),
      Step("the packets", [0x30], read: packets),
    ]
  }

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus) -> ICM42688Driver {
    ICM42688Driver(
      ChipConnection(bus: bus, address: 0x68, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
  }

  /// Reads the given number of times; returns the samples of the last reading.
  private func read(
    times: Int = 1, _ steps: [Step], _ check: (ICM42688Driver, IMUBatch) throws -> Void
  ) throws {
    let bus = PlaybackBus(ICM42688DriverTests.start + steps)
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

  @Test func `the driver identifies, wakes, configures and reads the chip, and puts it to sleep`() throws {
    let packets = ICM42688DriverTests.packet + ICM42688DriverTests.packet
    let steps =
      ICM42688DriverTests.burst(packets) + [ICM42688DriverTests.temperature, Step("all off", [0x4E, 0x00])]
    try read(steps) { driver, batch in
      #expect(batch.count == 2 && driver.counters.samples == 2)
      #expect(abs(batch[1].gyroscope.x - radians(100 * 500 / 32768)) < 1e-6)
      #expect(abs(batch[1].gyroscope.z + radians(100 * 500 / 32768)) < 1e-6)
      #expect(abs(batch[1].accelerometer.z - 9.80665) < 1e-4)
      #expect(abs((batch.temperatureCelsius ?? .nan) - 30) < 0.01)
      #expect(batch[1].at - batch[0].at == .milliseconds(10))
      driver.stop()
    }
  }

  @Test func `with a wired line, the chip signals each sample with a pulse`() throws {
    struct Line: GPIOEdgeInput {
      let fileDescriptor: Int32 = -1
      func takeEdges() throws(HardwareError) -> (latest: GPIOEdge, count: Int)? { nil }
      func close() {}
    }
    var steps = ICM42688DriverTests.start
    steps.insert(
      contentsOf: [
        Step("pulses, high and driven", [0x14, 0x03]), Step("proper pulses", [0x64, 0x00]),
        Step("data ready on the first pin", [0x65, 0x08]),
      ], at: 9)
    let bus = PlaybackBus(steps)
    let driver = ICM42688Driver(
      ChipConnection(bus: bus, address: 0x68, dataReady: Line(), clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
    try driver.start()
    bus.finish()
  }

  @Test func `an empty FIFO gives an empty batch`() throws {
    try read([Step("how many bytes", [0x2D], read: [0x10, 0, 0])]) { driver, batch in
      #expect(batch.count == 0 && !batch.followsGap && driver.counters == InertialCounters())
    }
  }

  @Test func `a full FIFO is emptied, counts as an overflow and marks a gap`() throws {
    let steps =
      [Step("how many bytes", [0x2D], read: [0x0A, 0x08, 0x00]), ICM42688DriverTests.flush]
      + ICM42688DriverTests.burst(ICM42688DriverTests.packet) + [ICM42688DriverTests.temperature]
    try read(times: 2, steps) { driver, batch in
      #expect(batch.count == 1 && batch.followsGap && driver.counters.overflows == 1)
    }
  }

  @Test func `there are no samples before the gyroscope has started`() throws {
    let packets = ICM42688DriverTests.nothing + ICM42688DriverTests.nothing + ICM42688DriverTests.packet
    let steps = ICM42688DriverTests.burst(packets) + [ICM42688DriverTests.temperature]
    try read(steps) { driver, batch in
      #expect(batch.count == 1 && !batch.followsGap && driver.counters.misreads == 0)
    }
  }

  @Test func `a missing measurement after the start is a gap`() throws {
    let packets = ICM42688DriverTests.packet + ICM42688DriverTests.nothing + ICM42688DriverTests.packet
    try read(ICM42688DriverTests.burst(packets) + [ICM42688DriverTests.flush]) { driver, batch in
      #expect(batch.count == 0 && batch.followsGap && driver.counters.misreads == 1)
    }
  }

  @Test(arguments: [0x00, 0xFF, 0x80, 0x40, 0x20, 0x78] as [UInt8])
  func `an invalid packet empties the FIFO and marks a gap`(_ header: UInt8) throws {
    let packets = ICM42688DriverTests.packet + [header] + ICM42688DriverTests.packet.dropFirst()
    try read(ICM42688DriverTests.burst(packets) + [ICM42688DriverTests.flush]) { driver, batch in
      #expect(batch.count == 0 && batch.followsGap && driver.counters.misreads == 1 && driver.counters.samples == 0)
    }
  }

  @Test func `a header that reports a changed rate is valid`() throws {
    let packet = [0x6B] + ICM42688DriverTests.packet.dropFirst()
    try read(ICM42688DriverTests.burst(packet) + [ICM42688DriverTests.temperature]) { driver, batch in
      #expect(batch.count == 1 && driver.counters.misreads == 0)
    }
  }

  @Test func `a hung bus gives no samples`() throws {
    let zeros = Step("how many bytes", [0x2D], read: [0, 0, 0])
    let ones = Step("how many bytes", [0x2D], read: [0xFF, 0xFF, 0xFF])
    try read(times: 2, [zeros, ones, ICM42688DriverTests.flush]) { driver, batch in
      #expect(batch.count == 0 && driver.counters.samples == 0)
    }
  }

  @Test func `a chip of another family is refused by its identity`() {
    let bus = PlaybackBus([Step("the first bank", [0x76, 0x00]), Step("who are you", [0x75], read: [0x68])])
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x68 on playback identifies itself as 0x68, which is not a relative of the ICM-42688-P (0x47, 0x42)"
      )
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test(arguments: [25, 50, 100, 500, 1000] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedICM42688(name: "twin", world: world, clock: clock) { true }
    try InertialTwinCheck(chip: .icm42688, bus: chip, address: 0x68, world: world, clock: clock).run(rateHz: rateHz)
  }

  @Test func `driver and simulated ICM-42605 agree on rate, units and axes`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedICM42605(name: "twin", world: world, clock: clock) { true }
    try InertialTwinCheck(chip: .icm42605, bus: chip, address: 0x68, world: world, clock: clock).run(rateHz: 200)
  }
}
