import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct QMC5883LDriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("anything, whole", [0x00], read: [0, 0, 0, 0, 0, 0]),
    Step("who are you", [0x0D], read: [0xFF]),
    Step("reset", [0x0A, 0x80]),
    Step("set and reset", [0x0B, 0x01]),
    Step("go on and on at 50 Hz, 8 gauss, the mean of 512", [0x09, 0x15]),
  ]

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<MagnetometerSample>, PlaybackBus) {
    let bus = PlaybackBus(QMC5883LDriverTests.start + steps, address: 0x0D)
    let driver = MagnetometerChip.qmc5883l.driver(
      ChipConnection(bus: bus, address: 0x0D, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 20))
    return (driver, bus)
  }

  @Test func `the driver identifies and configures the chip, reads microtesla and puts it on standby`() throws {
    let (driver, bus) = driver([
      Step("nothing new", [0x06], read: [0x00]),
      Step("something new", [0x06], read: [0x05]),
      // 0.5 gauss about x, -0.25 about y, 1 about z.
      Step("the axes", [0x00], read: [0xDC, 0x05, 0x12, 0xFD, 0xB8, 0x0B]),
      Step("standby", [0x09, 0x00]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(100))
    let sample = try #require(try driver.read())
    let error = sample.field - SIMD3(50, -25, 100)
    #expect((error * error).max().squareRoot() < 0.001)
    // A new sample is half a period old, on average.
    #expect(clock.now - sample.at == .milliseconds(10))
    driver.stop()
    bus.finish()
  }

  @Test func `a field beyond the range is not a measurement`() throws {
    let (driver, bus) = driver([Step("new, and too much", [0x06], read: [0x03])])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(arguments: [[0xFF, 0x7F], [0x00, 0x80]] as [[UInt8]])
  func `an end of the scale is not a measurement, with or without the flag`(_ end: [UInt8]) throws {
    let (driver, bus) = driver([
      Step("new", [0x06], read: [0x01]), Step("the axes", [0x00], read: [0x00, 0x01] + end + [0x00, 0x02]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8])
  func `a hung bus gives no measurement`(_ byte: UInt8) throws {
    let (driver, bus) = driver([
      Step("so is the status", [0x06], read: [byte]),
      Step("new, it seems", [0x06], read: [0x01]), Step("the axes", [0x00], read: Array(repeating: byte, count: 6)),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let bus = PlaybackBus(
      [QMC5883LDriverTests.start[0], Step("who are you", [0x0D], read: [0x10])], address: 0x0D)
    let driver = MagnetometerChip.qmc5883l.driver(
      ChipConnection(bus: bus, address: 0x0D, clock: clock, pause: { _ in }), PolledConfiguration(rateHz: 20))
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0xd on playback identifies itself as 0x10, which is not a QMC5883L (0xff)")
    ) { try driver.start() }
  }

  @Test(arguments: [10, 50, 200] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedQMC5883L(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x0D, world: world, clock: clock).run(
      .qmc5883l, rateHz: rateHz, fieldTolerance: rateHz < 20 ? 5 : 2.5)
  }

  @Test func `an overflow of the simulated chip gives no measurement`() throws {
    var world = World(start: clock.now.advanced(by: .seconds(-100)))
    world.magneticField = SIMD3(0, 0, 1200)
    let chip = SimulatedQMC5883L(name: "twin", world: world, clock: clock) { true }
    let driver = MagnetometerChip.qmc5883l.driver(
      ChipConnection(bus: chip, address: 0x0D, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 50))
    try driver.start()
    clock.advance(by: .milliseconds(50))
    #expect(try driver.read() == nil)
  }
}
