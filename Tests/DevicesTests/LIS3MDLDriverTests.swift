import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct LIS3MDLDriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("who are you", [0x0F], read: [0x3D]),
    Step("reset", [0x21, 0x04]),
    Step("ultra-high performance at 20 Hz", [0x20, 0x74]),
    Step("4 gauss", [0x21, 0x00]),
    Step("ultra-high performance of z", [0x23, 0x0C]),
    Step("both bytes together", [0x24, 0x40]),
    Step("go on and on", [0x22, 0x00]),
  ]

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<MagnetometerSample>, PlaybackBus) {
    let bus = PlaybackBus(LIS3MDLDriverTests.start + steps, address: 0x1C)
    let driver = MagnetometerChip.lis3mdl.driver(
      ChipConnection(bus: bus, address: 0x1C, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 20))
    return (driver, bus)
  }

  @Test func `the driver identifies and configures the chip, reads microtesla and powers it down`() throws {
    let (driver, bus) = driver([
      Step("nothing new", [0x27], read: [0x00]),
      Step("something new", [0x27], read: [0x0F]),
      // 0.5 gauss about x, -0.25 about y, 1 about z.
      Step("the axes, advancing", [0xA8], read: [0x5D, 0x0D, 0x51, 0xF9, 0xBA, 0x1A]),
      Step("power down", [0x22, 0x03]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(100))
    let sample = try #require(try driver.read())
    let error = sample.field - SIMD3(50, -25, 100)
    #expect((error * error).max().squareRoot() < 0.02)
    // A new sample is half a period old, on average.
    #expect(clock.now - sample.at == .milliseconds(25))
    driver.stop()
    bus.finish()
  }

  @Test(
    arguments: [
      [0xFF, 0x7F, 0x51, 0xF9, 0xBA, 0x1A], [0x5D, 0x0D, 0x00, 0x80, 0xBA, 0x1A], [0x5D, 0x0D, 0x51, 0xF9, 0x01, 0x80],
      [0x5D, 0x0D, 0x51, 0xF9, 0x02, 0x80],
    ] as [[UInt8]])
  func `a value at the end of the scale is not a measurement`(_ bytes: [UInt8]) throws {
    let (driver, bus) = driver([Step("new", [0x27], read: [0x0F]), Step("the axes", [0xA8], read: bytes)])
    try driver.start()
    // The last of the four is one unit from the end.
    #expect((try driver.read() == nil) == (bytes[4] != 0x02))
    bus.finish()
  }

  @Test(
    arguments: [
      [0x00, 0x00, 0x00, 0x00, 0x00, 0x00], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
    ] as [[UInt8]])
  func `a hung bus gives no measurement`(_ bytes: [UInt8]) throws {
    let (driver, bus) = driver([Step("new, it seems", [0x27], read: [0xFF]), Step("the axes", [0xA8], read: bytes)])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let bus = PlaybackBus([Step("who are you", [0x0F], read: [0x40])], address: 0x1E)
    let driver = MagnetometerChip.lis3mdl.driver(
      ChipConnection(bus: bus, address: 0x1E, clock: clock, pause: { _ in }), PolledConfiguration(rateHz: 20))
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x1e on playback identifies itself as 0x40, which is not a LIS3MDL (0x3d)")
    ) { try driver.start() }
  }

  @Test(arguments: [5, 20, 80] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedLIS3MDL(name: "twin", world: world, clock: clock) { true }
    // Half a period's turn at 5 Hz is two degrees.
    try PolledTwinCheck(bus: chip, address: 0x1C, world: world, clock: clock).run(
      .lis3mdl, rateHz: rateHz, fieldTolerance: rateHz < 10 ? 5 : 2.5)
  }
}
