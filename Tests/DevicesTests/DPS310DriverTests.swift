import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct DPS310DriverTests {
  typealias Step = PlaybackBus.Step

  /// 222, -297, 79832, -56308, -2295, 1444, -9701, 111, -489.
  static let coefficients: [UInt8] = [
    0x0D, 0xEE, 0xD7, 0x13, 0x7D, 0x8F, 0x24, 0x0C, 0xF7, 0x09, 0x05, 0xA4, 0xDA, 0x1B, 0x00, 0x6F, 0xFE, 0x17,
  ]
  static let identification = [Step("who are you", [0x0D], read: [0x10]), Step("reset", [0x0C, 0x09])]
  static let calibration = [
    Step("only the sensor is ready", [0x08], read: [0x40]),
    Step("coefficients, too", [0x08], read: [0xC0]),
    Step("coefficients", [0x10], read: coefficients),
    Step("they are those of the outer sensor", [0x28], read: [0x80]),
  ]
  static let mending = [
    Step("is it mended?", [0x32], read: [0x00]),
    Step("unlock", [0x0E, 0xA5]),
    Step("unlock", [0x0F, 0x96]),
    Step("mend", [0x62, 0x02]),
    Step("lock", [0x0E, 0x00]),
    Step("lock", [0x0F, 0x00]),
  ]
  static let configuration = [
    Step("pressure 16 times at 8 Hz", [0x06, 0x34]),
    Step("temperature once at 8 Hz, outer sensor", [0x07, 0xB0]),
    Step("shifted pressure", [0x09, 0x04]),
    Step("no mode", [0x08, 0x00]),
    Step("go on and on", [0x08, 0x07]),
  ]
  static let start = identification + calibration + mending + configuration

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<BarometerSample>, PlaybackBus) {
    let bus = PlaybackBus(steps, address: 0x77)
    let driver = BarometerChip.dps310.driver(
      ChipConnection(bus: bus, address: 0x77, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 5))
    return (driver, bus)
  }

  // Pressure -104000 of 253952, temperature 150578 of 524288.
  private static let example: [UInt8] = [0xFE, 0x69, 0xC0, 0x02, 0x4C, 0x32]

  @Test func `the driver identifies, corrects and configures the chip, reads pascals and puts it to sleep`() throws {
    let (driver, bus) = driver(
      DPS310DriverTests.start + [
        Step("nothing new", [0x08], read: [0xC7]),
        Step("both are new", [0x08], read: [0xF7]),
        Step("pressure and temperature", [0x00], read: DPS310DriverTests.example),
        Step("sleep", [0x08, 0x00]),
      ])
    try driver.start()
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(200))
    let sample = try #require(try driver.read())
    #expect(abs(sample.temperatureCelsius - 25.7002) < 0.0001)
    #expect(abs(sample.pressurePascals - 100_474.59) < 0.01)
    #expect(sample.humidityPercent == nil)
    // A new sample is half a period old, on average.
    #expect(clock.now - sample.at == .nanoseconds(62_500_000))
    driver.stop()
    bus.finish()
  }

  @Test func `a chip without the defect is not corrected, and the coefficients select the sensor`() throws {
    let (driver, bus) = driver(
      DPS310DriverTests.identification + [
        Step("ready", [0x08], read: [0xC0]),
        Step("coefficients", [0x10], read: DPS310DriverTests.coefficients),
        Step("they are those of the inner sensor", [0x28], read: [0x00]),
        Step("is it mended?", [0x32], read: [0x02]),
        Step("pressure 16 times at 8 Hz", [0x06, 0x34]),
        Step("temperature once at 8 Hz, inner sensor", [0x07, 0x30]),
        Step("shifted pressure", [0x09, 0x04]),
        Step("no mode", [0x08, 0x00]),
        Step("go on and on", [0x08, 0x07]),
      ])
    try driver.start()
    bus.finish()
  }

  @Test func `a pressure without a temperature is not a measurement`() throws {
    let data = Step("pressure and temperature", [0x00], read: DPS310DriverTests.example)
    let (driver, bus) = driver(
      DPS310DriverTests.start + [
        Step("only pressure is new", [0x08], read: [0xD7]), data,
        Step("both are new", [0x08], read: [0xF7]), data,
        Step("only pressure is new, which will do", [0x08], read: [0xD7]), data,
      ])
    try driver.start()
    #expect(try driver.read() == nil)
    #expect(try driver.read() != nil)
    #expect(try driver.read() != nil)
    bus.finish()
  }

  @Test func `a chip that does not become ready is an error`() {
    let (driver, bus) = driver(
      DPS310DriverTests.identification + Array(repeating: Step("not ready", [0x08], read: [0x40]), count: 5))
    #expect(throws: HardwareError.timedOut("the DPS310 at 0x77 on playback")) { try driver.start() }
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8])
  func `a hung bus gives no measurement`(_ byte: UInt8) throws {
    let (driver, bus) = driver(
      DPS310DriverTests.start + [
        Step("new, it seems", [0x08], read: [0xFF]), Step("the data", [0x00], read: Array(repeating: byte, count: 6)),
      ])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let (driver, _) = driver([Step("who are you", [0x0D], read: [0x11])])
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x77 on playback identifies itself as 0x11, which is not a DPS310 (0x10)")
    ) { try driver.start() }
  }

  @Test(arguments: [1, 5, 16, 32, 64, 128] as [Double])
  func `driver and simulated chip agree on rate and units`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedDPS310(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x77, world: world, clock: clock).run(
      .dps310, rateHz: rateHz, pressureTolerance: rateHz > 100 ? 12 : 4)
  }
}
