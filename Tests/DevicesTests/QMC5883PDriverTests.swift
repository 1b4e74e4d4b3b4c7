import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct QMC5883PDriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("who are you", [0x00], read: [0x80]),
    Step("reset", [0x0B, 0x80]),
    Step("the signs of the axes", [0x29, 0x06]),
    Step("8 gauss, with set and reset", [0x0B, 0x08]),
    Step("go on and on at 50 Hz", [0x0A, 0x05]),
  ]

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<MagnetometerSample>, PlaybackBus) {
    let bus = PlaybackBus(QMC5883PDriverTests.start + steps, address: 0x2C)
    let driver = MagnetometerChip.qmc5883p.driver(
      ChipConnection(bus: bus, address: 0x2C, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 20))
    return (driver, bus)
  }

  @Test func `the driver identifies and configures the chip, reads microtesla and suspends it`() throws {
    let (driver, bus) = driver([
      Step("nothing new", [0x09], read: [0x00]),
      Step("something new", [0x09], read: [0x01]),
      // 0.5 gauss about x, -0.2 about y, 1 about z.
      Step("the axes", [0x01], read: [0x53, 0x07, 0x12, 0xFD, 0xA6, 0x0E]),
      Step("suspend", [0x0A, 0x00]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(100))
    let sample = try #require(try driver.read())
    let error = sample.field - SIMD3(50, -20, 100)
    #expect((error * error).max().squareRoot() < 0.001)
    // A new sample is half a period old, on average.
    #expect(clock.now - sample.at == .milliseconds(10))
    driver.stop()
    bus.finish()
  }

  @Test func `a field beyond the range is not a measurement`() throws {
    let (driver, bus) = driver([Step("new, and too much", [0x09], read: [0x03])])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(arguments: [[0xFF, 0x7F], [0x00, 0x80]] as [[UInt8]])
  func `an end of the scale is not a measurement, with or without the flag`(_ end: [UInt8]) throws {
    let (driver, bus) = driver([
      Step("new", [0x09], read: [0x01]), Step("the axes", [0x01], read: [0x00, 0x01] + end + [0x00, 0x02]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8])
  func `a hung bus gives no measurement`(_ byte: UInt8) throws {
    let (driver, bus) = driver([
      Step("so is the status", [0x09], read: [byte]),
      Step("new, it seems", [0x09], read: [0x01]), Step("the axes", [0x01], read: Array(repeating: byte, count: 6)),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let bus = PlaybackBus([Step("who are you", [0x00], read: [0xFF])], address: 0x2C)
    let driver = MagnetometerChip.qmc5883p.driver(
      ChipConnection(bus: bus, address: 0x2C, clock: clock, pause: { _ in }), PolledConfiguration(rateHz: 20))
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x2c on playback identifies itself as 0xff, which is not a QMC5883P (0x80)")
    ) { try driver.start() }
  }

  @Test(arguments: [10, 50, 200] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedQMC5883P(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x2C, world: world, clock: clock).run(
      .qmc5883p, rateHz: rateHz, fieldTolerance: rateHz < 20 ? 5 : 2.5)
  }

  @Test func `an overflow of the simulated chip gives no measurement`() throws {
    var world = World(start: clock.now.advanced(by: .seconds(-100)))
    world.magneticField = SIMD3(0, 0, 1200)
    let chip = SimulatedQMC5883P(name: "twin", world: world, clock: clock) { true }
    let driver = MagnetometerChip.qmc5883p.driver(
      ChipConnection(bus: chip, address: 0x2C, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 50))
    try driver.start()
    clock.advance(by: .milliseconds(50))
    #expect(try driver.read() == nil)
  }
}
