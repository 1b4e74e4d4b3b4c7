import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct LPS22HBDriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("who are you", [0x0F], read: [0xB1]),
    Step("reset", [0x11, 0x04]),
    Step("25 Hz, the bytes of a number together", [0x10, 0x32]),
  ]

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<BarometerSample>, PlaybackBus) {
    let bus = PlaybackBus(LPS22HBDriverTests.start + steps, address: 0x5C)
    let driver = BarometerChip.lps22hb.driver(
      ChipConnection(bus: bus, address: 0x5C, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 20))
    return (driver, bus)
  }

  @Test func `the driver identifies and configures the chip, reads pascals and powers it down`() throws {
    let (driver, bus) = driver([
      Step("nothing new", [0x27], read: [0x00]),
      Step("only pressure", [0x27], read: [0x01]),
      Step("both", [0x27], read: [0x33]),
      Step("temperature, 2345", [0x2B], read: [0x29, 0x09]),
      Step("pressure, 4150272, last", [0x28], read: [0x00, 0x54, 0x3F]),
      Step("power down", [0x10, 0x00]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(100))
    let sample = try #require(try driver.read())
    #expect(abs(sample.temperatureCelsius - 23.45) < 0.0001)
    #expect(abs(sample.pressurePascals - 101_325) < 0.001)
    #expect(sample.humidityPercent == nil)
    // A new sample is half a period old, on average.
    #expect(clock.now - sample.at == .milliseconds(20))
    driver.stop()
    bus.finish()
  }

  @Test func `a temperature below zero is read correctly`() throws {
    let (driver, bus) = driver([
      Step("both", [0x27], read: [0x03]),
      Step("temperature, -1250", [0x2B], read: [0x1E, 0xFB]),
      Step("pressure, 4096000", [0x28], read: [0x00, 0x80, 0x3E]),
    ])
    try driver.start()
    let sample = try #require(try driver.read())
    #expect(abs(sample.temperatureCelsius + 12.5) < 0.0001)
    #expect(abs(sample.pressurePascals - 100_000) < 0.001)
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8])
  func `a hung bus gives no measurement`(_ byte: UInt8) throws {
    let (driver, bus) = driver([
      Step("new, it seems", [0x27], read: [0xFF]),
      Step("temperature", [0x2B], read: [byte, byte]),
      Step("pressure", [0x28], read: [byte, byte, byte]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let bus = PlaybackBus([Step("who are you", [0x0F], read: [0xB3])], address: 0x5D)
    let driver = BarometerChip.lps22hb.driver(
      ChipConnection(bus: bus, address: 0x5D, clock: clock, pause: { _ in }), PolledConfiguration(rateHz: 20))
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x5d on playback identifies itself as 0xb3, which is not an LPS22HB (0xb1)")
    ) { try driver.start() }
  }

  @Test(arguments: [1, 5, 25, 50, 75] as [Double])
  func `driver and simulated chip agree on rate and units`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedLPS22HB(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x5C, world: world, clock: clock).run(
      .lps22hb, rateHz: rateHz, pressureTolerance: 5)
  }
}
