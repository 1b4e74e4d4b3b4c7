import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct BMP280DriverTests {
  typealias Step = PlaybackBus.Step

  /// The example of the data sheet, section 3.12: 27504, 26435, -1000 and the pressure's nine.
  static let coefficients: [UInt8] = [
    0x70, 0x6B, 0x43, 0x67, 0x18, 0xFC, 0x7D, 0x8E, 0x43, 0xD6, 0xD0, 0x0B, 0x27, 0x0B, 0x8C, 0x00, 0xF9, 0xFF, 0x8C,
    0x3C, 0xF8, 0xC6, 0x70, 0x17,
  ]
  static let start = [
    Step("who are you", [0xD0], read: [0x58]),
    Step("with humidity?", [0xD0], read: [0x58]),
    Step("reset", [0xE0, 0xB6]),
    Step("still copying", [0xF3], read: [0x01]),
    Step("done", [0xF3], read: [0x00]),
    Step("coefficients", [0x88], read: coefficients),
    Step("125 ms of rest, no filter", [0xF5, 0x40]),
    Step("normal mode", [0xF4, 0x4F]),
  ]

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<BarometerSample>, PlaybackBus) {
    let bus = PlaybackBus(steps, address: 0x76)
    let driver = BarometerChip.bmp280.driver(
      ChipConnection(bus: bus, address: 0x76, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 5))
    return (driver, bus)
  }

  @Test func `the data sheet's example gives one measurement, and the chip is put to sleep`() throws {
    let example = Step("519888 and 415148", [0xF7], read: [0x65, 0x5A, 0xC0, 0x7E, 0xED, 0x00])
    let (driver, bus) = driver(
      BMP280DriverTests.start + [
        Step("nothing yet", [0xF7], read: [0x80, 0x00, 0x00, 0x80, 0x00, 0x00]), example, example,
        Step("sleep", [0xF4, 0x4C]),
      ])
    try driver.start()
    #expect(try driver.read() == nil)
    let sample = try #require(try driver.read())
    #expect(abs(sample.temperatureCelsius - 25.08) < 0.005)
    #expect(abs(sample.pressurePascals - 100_653.27) < 0.05)
    #expect(sample.humidityPercent == nil)
    #expect(try driver.read() == nil)
    driver.stop()
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8])
  func `a hung bus gives no measurement`(_ byte: UInt8) throws {
    let (driver, bus) = driver(
      BMP280DriverTests.start + [Step("the data", [0xF7], read: Array(repeating: byte, count: 6))])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let (driver, _) = driver([Step("who are you", [0xD0], read: [0x50])])
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x76 on playback identifies itself as 0x50, which is not a BMP280 or BME280 (0x58, 0x60)")
    ) { try driver.start() }
  }

  @Test(arguments: [1, 5, 50] as [Double])
  func `driver and simulated chip agree on rate and units`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBMP280(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x76, world: world, clock: clock).run(
      .bmp280, rateHz: rateHz, pressureTolerance: 5)
  }

  @Test func `driver and simulated BME280 agree on rate and units`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBME280(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x76, world: world, clock: clock).run(
      .bme280, rateHz: 5, pressureTolerance: 5, hasHumidity: true)
  }
}
