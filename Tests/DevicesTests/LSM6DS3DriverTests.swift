import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct LSM6DS3DriverTests {
  typealias Step = PlaybackBus.Step

  /// The writes that make the chip fill its FIFO 104 times a second, 500 degrees per second and 4 g full scale.
  static func start(_ identity: UInt8) -> [Step] {
    [
      Step("who are you", [0x0F], read: [identity]),
      Step("which of both", [0x0F], read: [identity]),
      Step("reset", [0x12, 0x01]),
      Step("whole updates, addresses that go on", [0x12, 0x44]),
      Step("accelerometer at 104 Hz, 4 g", [0x10, 0x48]),
      Step("gyroscope at 104 Hz, 500 degrees per second", [0x11, 0x44]),
      Step("all of both into the FIFO", [0x08, 0x09]),
    ] + restartFIFO
  }
  static let restartFIFO = [Step("FIFO off", [0x0A, 0x00]), Step("FIFO on at 104 Hz", [0x0A, 0x26])]
  static let temperature = Step("temperature", [0x20], read: [0x00, 0x01])

  /// A sample with 1000 units about x, -1000 about z, and 8197 down z.
  static let sample: [UInt8] = [0xE8, 0x03, 0, 0, 0x18, 0xFC, 0, 0, 0, 0, 0x05, 0x20]

  static func look(words: Int, status: UInt8 = 0, place: UInt8 = 0) -> Step {
    Step(
      "how many words, and which is next", [0x3A],
      read: [UInt8(words & 0xFF), status | UInt8(words >> 8), place, 0x00])
  }

  static func burst(_ count: Int) -> [Step] {
    [look(words: 6 * count), Step("the words", [0x3E], read: Array(repeating: sample, count: count).flatMap { $0 })]
  }

  let clock = ManualClock()

  private func driver(_ bus: any I2CBus) -> LSM6DS3Driver {
    LSM6DS3Driver(
      ChipConnection(bus: bus, address: 0x6A, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
  }

  /// Reads the given number of times; returns the samples of the last reading.
  private func read(
    times: Int = 1, identity: UInt8 = 0x6A, _ steps: [Step], _ check: (LSM6DS3Driver, IMUBatch) throws -> Void
  ) throws {
    let bus = PlaybackBus(LSM6DS3DriverTests.start(identity) + steps, address: 0x6A)
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

  /// One chip has 256 units per degree, the other sixteen.
  @Test(arguments: [(0x6A, 26), (0x69, 41)] as [(UInt8, Float)])
  func `the driver identifies, wakes, configures and reads the chip, and puts it to sleep`(
    _ identity: UInt8, _ celsius: Float
  ) throws {
    let sleep = [Step("accelerometer off", [0x10, 0x00]), Step("gyroscope off", [0x11, 0x00])]
    let steps = LSM6DS3DriverTests.burst(3) + [LSM6DS3DriverTests.temperature] + sleep
    try read(identity: identity, steps) { driver, batch in
      // The first sample is invalid.
      #expect(batch.count == 2 && driver.counters.samples == 2)
      for index in 0..<2 {
        // A unit is 17.5 mdps and 0.122 mg.
        #expect(abs(batch[index].gyroscope.x - radians(17.5)) < 1e-5)
        #expect(abs(batch[index].gyroscope.z + radians(17.5)) < 1e-5)
        #expect(abs(batch[index].accelerometer.z - 9.807) < 1e-3)
      }
      #expect(batch.temperatureCelsius == celsius)
      #expect(abs((batch[1].at - batch[0].at).inSeconds - 1 / 104.0) < 1e-5)
      driver.stop()
    }
  }

  private struct Line: GPIOEdgeInput {
    let fileDescriptor: Int32 = -1
    func takeEdges() throws(HardwareError) -> (latest: GPIOEdge, count: Int)? { nil }
    func close() {}
  }

  @Test(arguments: [0x6A, 0x69] as [UInt8])
  func `a wired line pulses if the chip can pulse, and is not used if it would stay high`(_ identity: UInt8) throws {
    var steps = LSM6DS3DriverTests.start(identity)
    if identity == 0x6A {
      steps.insert(
        contentsOf: [Step("pulses", [0x0B, 0x80]), Step("the gyroscope's on the first pin", [0x0D, 0x02])], at: 7)
    }
    let bus = PlaybackBus(steps, address: 0x6A)
    let driver = LSM6DS3Driver(
      ChipConnection(bus: bus, address: 0x6A, dataReady: Line(), clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 100))
    try driver.start()
    #expect(driver.signalsSamples == (identity == 0x6A))
    bus.finish()
  }

  @Test func `an incomplete sample waits for the next read`() throws {
    let two = LSM6DS3DriverTests.sample + LSM6DS3DriverTests.sample
    let steps = [
      LSM6DS3DriverTests.look(words: 5), LSM6DS3DriverTests.look(words: 17), Step("two samples", [0x3E], read: two),
      LSM6DS3DriverTests.temperature,
    ]
    try read(times: 2, steps) { driver, batch in
      #expect(batch.count == 1 && driver.counters.misreads == 0)
    }
  }

  @Test func `samples that do not fit into a batch wait, and every sample has its own time`() throws {
    let samples = Array(repeating: LSM6DS3DriverTests.sample, count: 96).flatMap { $0 }
    let steps =
      [LSM6DS3DriverTests.look(words: 600), Step("as many as there is room for", [0x3E], read: samples)]
      + [LSM6DS3DriverTests.temperature]
    try read(steps) { driver, batch in
      #expect(batch.count == 95)
      // Four and a half samples follow it in the FIFO.
      #expect(abs((clock.now - batch[94].at).inSeconds - 4.5 / 104) < 1e-4)
    }
  }

  @Test func `an overrun empties the FIFO, is counted and marks a gap`() throws {
    let steps =
      [LSM6DS3DriverTests.look(words: 2046, status: 0x40)] + LSM6DS3DriverTests.restartFIFO
      + LSM6DS3DriverTests.burst(2) + [LSM6DS3DriverTests.temperature]
    try read(times: 2, steps) { driver, batch in
      #expect(batch.count == 1 && batch.followsGap && driver.counters.overflows == 1 && driver.counters.misreads == 0)
    }
  }

  @Test(arguments: 1...5 as ClosedRange<UInt8>)
  func `words that begin in the middle of a sample give no sample`(_ place: UInt8) throws {
    let steps = [LSM6DS3DriverTests.look(words: 14, place: place)] + LSM6DS3DriverTests.restartFIFO
    try read(steps) { driver, batch in
      #expect(batch.count == 0 && batch.followsGap && driver.counters.misreads == 1)
    }
  }

  @Test func `a read that lost arbitration restarts the FIFO`() throws {
    let lost = HardwareError.arbitrationLost(bus: "playback", address: 0x6A)
    let steps =
      [LSM6DS3DriverTests.look(words: 6), Step("lost", [0x3E], read: LSM6DS3DriverTests.sample, error: lost)]
      + LSM6DS3DriverTests.restartFIFO
    try read(steps) { driver, batch in
      #expect(batch.count == 0 && batch.followsGap && driver.counters.misreads == 1)
    }
  }

  @Test func `a hung bus gives no samples`() throws {
    let zeros = Step("all zeros", [0x3A], read: [0, 0, 0, 0])
    let ones = Step("all ones", [0x3A], read: [0xFF, 0xFF, 0xFF, 0xFF])
    try read(times: 2, [zeros, ones] + LSM6DS3DriverTests.restartFIFO) { driver, batch in
      #expect(batch.count == 0 && driver.counters.samples == 0)
    }
  }

  @Test func `a chip of another family is refused by its identity`() {
    let bus = PlaybackBus([Step("who are you", [0x0F], read: [0x6C])], address: 0x6A)
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x6a on playback identifies itself as 0x6c, which is not a relative of the LSM6DS3 (0x6a, 0x69)")
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test(arguments: [52, 104, 416, 1666] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedLSM6DS3TRC(name: "twin", world: world, clock: clock) { true }
    try InertialTwinCheck(chip: .lsm6ds3trc, bus: chip, address: 0x6A, world: world, clock: clock).run(rateHz: rateHz)
  }

  @Test(arguments: [26, 208] as [Double])
  func `driver and simulated LSM6DS3 agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedLSM6DS3(name: "twin", world: world, clock: clock) { true }
    try InertialTwinCheck(chip: .lsm6ds3, bus: chip, address: 0x6A, world: world, clock: clock).run(rateHz: rateHz)
  }

  @Test func `both twins have the temperature of the world`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let twins: [any I2CBus] = [
      SimulatedLSM6DS3TRC(name: "twin", world: world, clock: clock) { true },
      SimulatedLSM6DS3(name: "twin", world: world, clock: clock) { true },
    ]
    for twin in twins {
      let driver = driver(twin)
      try driver.start()
      clock.advance(by: .milliseconds(100))
      var batch = IMUBatch()
      try driver.read(into: &batch)
      #expect(abs(try #require(batch.temperatureCelsius) - Float(world.temperatureCelsius)) < 0.1)
    }
  }
}
