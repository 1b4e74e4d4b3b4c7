import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct BMP390DriverTests {
  typealias Step = PlaybackBus.Step

  /// T1 to T3: 27357, 18769, -10. P1 to P11: 201, -2530, 35, 0, 24917, 30666, -13, -10, 16291, 22, -60.
  static let coefficients: [UInt8] = [
    0xDD, 0x6A, 0x51, 0x49, 0xF6, 0xC9, 0x00, 0x1E, 0xF6, 0x23, 0x00, 0x55, 0x61, 0xCA, 0x77, 0xF3, 0xF6, 0xA3, 0x3F,
    0x16, 0xC4,
  ]
  static let start = [
    Step("who are you", [0x00], read: [0x60]),
    Step("reset", [0x7E, 0xB6]),
    Step("not ready", [0x03], read: [0x00]),
    Step("ready", [0x03], read: [0x10]),
    Step("coefficients", [0x31], read: coefficients),
    Step("pressure eight times, temperature once", [0x1C, 0x03]),
    Step("25 Hz", [0x1D, 0x03]),
    Step("no filter", [0x1F, 0x00]),
    Step("normal mode", [0x1B, 0x33]),
  ]

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<BarometerSample>, PlaybackBus) {
    let bus = PlaybackBus(steps, address: 0x77)
    let driver = BarometerChip.bmp390.driver(
      ChipConnection(bus: bus, address: 0x77, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 20))
    return (driver, bus)
  }

  @Test func `the driver identifies and configures the chip, reads pascals and puts it to sleep`() throws {
    let (driver, bus) = driver(
      BMP390DriverTests.start + [
        Step("nothing new", [0x03], read: [0x10]),
        Step("only pressure", [0x03], read: [0x30]),
        Step("both", [0x03], read: [0x70]),
        // The raw values are 7139840 and 8502272.
        Step("pressure and temperature", [0x04], read: [0x00, 0xF2, 0x6C, 0x00, 0xBC, 0x81]),
        Step("sleep", [0x1B, 0x00]),
      ])
    try driver.start()
    #expect(try driver.read() == nil)
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(100))
    let sample = try #require(try driver.read())
    #expect(abs(sample.temperatureCelsius - 26.1206) < 0.0001)
    #expect(abs(sample.pressurePascals - 97_552.36) < 0.01)
    #expect(sample.humidityPercent == nil)
    // A new sample is half a period old, on average.
    #expect(clock.now - sample.at == .milliseconds(20))
    driver.stop()
    bus.finish()
  }

  @Test(
    arguments: [
      [0x00, 0x00, 0x00, 0x00, 0x00, 0x00], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
      [0x00, 0x00, 0x80, 0x00, 0xBC, 0x81], [0x00, 0xF2, 0x6C, 0x00, 0x00, 0x80],
    ] as [[UInt8]])
  func `a hung bus gives no measurement, nor does a skipped measurement`(_ bytes: [UInt8]) throws {
    let (driver, bus) = driver(
      BMP390DriverTests.start + [Step("new, it seems", [0x03], read: [0xFF]), Step("the data", [0x04], read: bytes)])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let (driver, _) = driver([Step("who are you", [0x00], read: [0x58])])
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x77 on playback identifies itself as 0x58, which is not a BMP388 or BMP390 (0x50, 0x60)")
    ) { try driver.start() }
  }

  @Test(arguments: [1, 5, 20, 50, 100, 200] as [Double])
  func `driver and simulated chip agree on rate and units`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBMP390(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x77, world: world, clock: clock).run(
      .bmp390, rateHz: rateHz, pressureTolerance: rateHz > 25 ? 15 : 5)
  }

  @Test func `driver and simulated BMP388 agree on rate and units`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBMP388(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x76, world: world, clock: clock).run(
      .bmp388, rateHz: 5, pressureTolerance: 5)
  }
}
