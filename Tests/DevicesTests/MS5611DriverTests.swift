import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct MS5611DriverTests {
  typealias Step = PlaybackBus.Step

  /// The coefficients of the data sheet's example: 40127, 36924, 23317, 23282, 33464, 28312.
  static let words: [[UInt8]] = [
    [0x00, 0x48], [0x9C, 0xBF], [0x90, 0x3C], [0x5B, 0x15], [0x5A, 0xF2], [0x82, 0xB8], [0x6E, 0x98], [0x12, 0x35],
  ]
  /// The raw results of the data sheet's example: 8569150 and 9085466.
  static let temperature: [UInt8] = [0x82, 0xC1, 0x3E]
  static let pressure: [UInt8] = [0x8A, 0xA2, 0x1A]

  static func prom(_ words: [[UInt8]]) -> [Step] {
    words.enumerated().map { Step("word \($0)", [0xA0 + UInt8(2 * $0)], read: $1) }
  }

  static func start(temperature: [UInt8] = MS5611DriverTests.temperature) -> [Step] {
    prom(words) + [Step("reset", [0x1E])] + prom(words) + [
      Step("convert temperature", [0x58]), Step("temperature", [0x00], read: temperature),
      Step("convert pressure", [0x48]),
    ]
  }

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<BarometerSample>, PlaybackBus) {
    let bus = PlaybackBus(steps, address: 0x77)
    let driver = BarometerChip.ms5611.driver(
      ChipConnection(bus: bus, address: 0x77, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 20))
    return (driver, bus)
  }

  @Test func `the data sheet's example gives pressure and temperature in turn, and no read waits`() throws {
    let (driver, bus) = driver(
      MS5611DriverTests.start() + [
        Step("pressure", [0x00], read: MS5611DriverTests.pressure),
        Step("convert temperature", [0x58]),
        Step("temperature", [0x00], read: MS5611DriverTests.temperature),
        Step("convert pressure", [0x48]),
        Step("pressure", [0x00], read: MS5611DriverTests.pressure),
        Step("convert temperature", [0x58]),
      ])
    try driver.start()
    let began = clock.now
    #expect(try driver.read() == nil)
    // The conversion is complete, but the next measurement is not due yet.
    clock.advance(by: .milliseconds(10))
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(15))
    let sample = try #require(try driver.read())
    #expect(abs(sample.temperatureCelsius - 20.07985) < 0.0001)
    #expect(abs(sample.pressurePascals - 100_009.07) < 0.01)
    #expect(sample.humidityPercent == nil)
    #expect(sample.at - began == .microseconds(4110))
    // The temperature conversion takes this long.
    clock.advance(by: .milliseconds(9))
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(1))
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(39))
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(1))
    let next = try #require(try driver.read())
    #expect(next.at - began == .microseconds(39_110))
    driver.stop()
    clock.advance(by: .seconds(1))
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(
    arguments: [
      // 8000000 and 7000000, by the formulas of the second order.
      ([0x7A, 0x12, 0x00], -0.62517, 95_989.05), ([0x6A, 0xCF, 0xC0], -44.31091, 85_693.89),
    ] as [([UInt8], Double, Double)])
  func `low temperatures use second-order formulas`(_ temperature: [UInt8], _ celsius: Double, _ pascals: Double) throws
  {
    let (driver, bus) = driver(
      MS5611DriverTests.start(temperature: temperature) + [
        Step("pressure", [0x00], read: MS5611DriverTests.pressure), Step("convert temperature", [0x58]),
      ])
    try driver.start()
    clock.advance(by: .milliseconds(25))
    let sample = try #require(try driver.read())
    #expect(abs(sample.temperatureCelsius - celsius) < 0.0001)
    #expect(abs(sample.pressurePascals - pascals) < 0.01)
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8])
  func `a hung bus gives no measurement, and the next one has a new temperature`(_ byte: UInt8) throws {
    let nothing = Array(repeating: byte, count: 3)
    let (driver, bus) = driver(
      MS5611DriverTests.start() + [
        Step("pressure", [0x00], read: nothing), Step("convert temperature", [0x58]),
        Step("temperature", [0x00], read: nothing), Step("convert it again", [0x58]),
        Step("temperature", [0x00], read: MS5611DriverTests.temperature), Step("convert pressure", [0x48]),
        Step("pressure", [0x00], read: MS5611DriverTests.pressure), Step("convert temperature", [0x58]),
      ])
    try driver.start()
    for _ in 0..<3 {
      clock.advance(by: .milliseconds(30))
      #expect(try driver.read() == nil)
    }
    clock.advance(by: .milliseconds(30))
    #expect(try driver.read() != nil)
    bus.finish()
  }

  static func changed(_ index: Int, to word: [UInt8]) -> [[UInt8]] {
    var changed = words
    changed[index] = word
    return changed
  }

  static let empty: [[UInt8]] = Array(repeating: [0x00, 0x00], count: 8)
  static let others: [[[UInt8]]] = [
    empty, Array(repeating: [0xFF, 0xFF], count: 8),
    // One bit of a coefficient is flipped, and one of the checksum.
    changed(3, to: [0x5B, 0x14]), changed(7, to: [0x12, 0x34]),
  ]

  @Test(arguments: others)
  func `another chip is refused`(_ words: [[UInt8]]) {
    let (driver, bus) = driver(MS5611DriverTests.prom(words))
    #expect(throws: HardwareError.unexpectedDevice("the chip at 0x77 on playback is not an MS5611")) {
      try driver.start()
    }
    bus.finish()
  }

  @Test func `a chip that loses its coefficients in a reset is refused`() {
    let (driver, bus) = driver(
      MS5611DriverTests.prom(MS5611DriverTests.words) + [Step("reset", [0x1E])]
        + MS5611DriverTests.prom(MS5611DriverTests.empty))
    #expect(
      throws: HardwareError.unexpectedDevice("the MS5611 at 0x77 on playback has invalid calibration data")
    ) { try driver.start() }
    bus.finish()
  }

  @Test(arguments: [1, 5, 25, 50] as [Double])
  func `driver and simulated chip agree on rate and units`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedMS5611(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x77, world: world, clock: clock).run(
      .ms5611, rateHz: rateHz, pressureTolerance: 7)
  }

  @Test func `a result that is fetched too early is lost, and a result can be fetched only once`() throws {
    let chip = SimulatedMS5611(name: "twin", world: World(start: clock.now), clock: clock) { true }
    let registers = I2CRegisters(chip, address: 0x77, capacity: 3)
    func result() throws -> [UInt8] { Array(try registers.read(0x00, count: 3)) }
    try registers.send(0x48)
    clock.advance(by: .milliseconds(5))
    #expect(try result() == [0, 0, 0])
    clock.advance(by: .milliseconds(5))
    #expect(try result() == [0, 0, 0])
    try registers.send(0x48)
    clock.advance(by: .milliseconds(10))
    #expect(try result() != [0, 0, 0])
    #expect(try result() == [0, 0, 0])
  }
}
