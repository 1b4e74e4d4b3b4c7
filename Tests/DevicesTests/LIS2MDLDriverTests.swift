import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct LIS2MDLDriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("who are you", [0x4F], read: [0x40]),
    Step("reset", [0x60, 0x20]),
    Step("cancel the offset", [0x61, 0x02]),
    Step("both bytes together", [0x62, 0x10]),
    Step("go on and on at 20 Hz, compensated", [0x60, 0x84]),
  ]

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<MagnetometerSample>, PlaybackBus) {
    let bus = PlaybackBus(LIS2MDLDriverTests.start + steps, address: 0x1E)
    let driver = MagnetometerChip.lis2mdl.driver(
      ChipConnection(bus: bus, address: 0x1E, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 20))
    return (driver, bus)
  }

  @Test func `the driver identifies and configures the chip, reads microtesla and makes it idle`() throws {
    let (driver, bus) = driver([
      Step("nothing new", [0x67], read: [0x00]),
      Step("something new", [0x67], read: [0x0F]),
      // 300, -200 and -600 times 0.15 microtesla; z is drawn left-handed.
      Step("the axes", [0x68], read: [0x2C, 0x01, 0x38, 0xFF, 0xA8, 0xFD]),
      Step("idle", [0x60, 0x03]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(100))
    let sample = try #require(try driver.read())
    let error = sample.field - SIMD3(45, -30, 90)
    #expect((error * error).max().squareRoot() < 0.001)
    // A new sample is half a period old, on average.
    #expect(clock.now - sample.at == .milliseconds(25))
    driver.stop()
    bus.finish()
  }

  @Test(
    arguments: [
      [0xFF, 0x7F, 0x38, 0xFF, 0xA8, 0xFD], [0x2C, 0x01, 0x00, 0x80, 0xA8, 0xFD], [0x2C, 0x01, 0x38, 0xFF, 0xFF, 0x7F],
    ] as [[UInt8]])
  func `a value at the end of the scale is not a measurement`(_ bytes: [UInt8]) throws {
    let (driver, bus) = driver([Step("new", [0x67], read: [0x0F]), Step("too much", [0x68], read: bytes)])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8])
  func `a hung bus gives no measurement`(_ byte: UInt8) throws {
    let (driver, bus) = driver([
      Step("new, it seems", [0x67], read: [0xFF]), Step("the axes", [0x68], read: Array(repeating: byte, count: 6)),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let bus = PlaybackBus([Step("who are you", [0x4F], read: [0x00])], address: 0x1E)
    let driver = MagnetometerChip.lis2mdl.driver(
      ChipConnection(bus: bus, address: 0x1E, clock: clock, pause: { _ in }), PolledConfiguration(rateHz: 20))
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x1e on playback identifies itself as 0x0, which is not a LIS2MDL (0x40)")
    ) { try driver.start() }
  }

  @Test(arguments: [10, 20, 100] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedLIS2MDL(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x1E, world: world, clock: clock).run(
      .lis2mdl, rateHz: rateHz, fieldTolerance: 3)
  }
}
