import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct HMC5883LDriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("who are you", [0x0A], read: [0x48, 0x34, 0x33]),
    Step("the mean of 8 at 15 Hz", [0x00, 0x70]),
    Step("1090 units to a gauss", [0x01, 0x20]),
    Step("once with the gain before", [0x02, 0x01]),
    Step("which does not count", [0x03], read: [0x01, 0x00, 0x01, 0x00, 0x01, 0x00]),
    Step("go on and on", [0x02, 0x00]),
  ]
  /// 0.5 gauss about x, 1 about z, -0.2 about y.
  static let measurement: [UInt8] = [0x02, 0x21, 0x04, 0x42, 0xFF, 0x26]

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<MagnetometerSample>, PlaybackBus) {
    let bus = PlaybackBus(HMC5883LDriverTests.start + steps, address: 0x1E)
    let driver = MagnetometerChip.hmc5883l.driver(
      ChipConnection(bus: bus, address: 0x1E, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 15))
    return (driver, bus)
  }

  @Test func `the driver identifies and configures the chip, reads microtesla and makes it idle`() throws {
    let (driver, bus) = driver([
      Step("x, z and y", [0x03], read: HMC5883LDriverTests.measurement),
      Step("idle", [0x02, 0x02]),
    ])
    let began = clock.now
    try driver.start()
    // The pause covers eight measurements of six milliseconds.
    #expect(clock.now - began >= .milliseconds(48))
    let sample = try #require(try driver.read())
    let error = sample.field - SIMD3(50, -20, 100)
    #expect((error * error).max().squareRoot() < 0.001)
    // A new sample is half a period old, on average.
    #expect(clock.now - sample.at == .nanoseconds(33_333_333))
    driver.stop()
    bus.finish()
  }

  @Test func `a measurement is returned once, and the measurement with the old gain is dropped`() throws {
    let same = Step("x, z and y", [0x03], read: HMC5883LDriverTests.measurement)
    let (driver, bus) = driver([
      Step("still that with the old gain", [0x03], read: [0x01, 0x00, 0x01, 0x00, 0x01, 0x00]), same, same,
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    #expect(try driver.read() != nil)
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(
    arguments: [
      [0xF0, 0x00, 0x04, 0x42, 0xFF, 0x26], [0x02, 0x21, 0xF0, 0x00, 0xFF, 0x26], [0x02, 0x21, 0x04, 0x42, 0xF0, 0x00],
      [0x08, 0x00, 0x04, 0x42, 0xFF, 0x26],
    ] as [[UInt8]])
  func `a field beyond the range is not a measurement`(_ bytes: [UInt8]) throws {
    let (driver, bus) = driver([
      Step("too much", [0x03], read: bytes), Step("x, z and y", [0x03], read: HMC5883LDriverTests.measurement),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    #expect(try driver.read() != nil)
    bus.finish()
  }

  @Test(arguments: [0x00, 0xFF] as [UInt8])
  func `a hung bus gives no measurement`(_ byte: UInt8) throws {
    let (driver, bus) = driver([Step("the axes", [0x03], read: Array(repeating: byte, count: 6))])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `another chip is refused`() {
    let bus = PlaybackBus([Step("who are you", [0x0A], read: [0x00, 0x12, 0x33])], address: 0x1E)
    let driver = MagnetometerChip.hmc5883l.driver(
      ChipConnection(bus: bus, address: 0x1E, clock: clock, pause: { _ in }), PolledConfiguration(rateHz: 15))
    #expect(
      throws: HardwareError.unexpectedDevice(
        "the chip at 0x1e on playback identifies itself as 0x0 0x12 0x33, which is not an HMC5883L (0x48 0x34 0x33)")
    ) { try driver.start() }
  }

  @Test(arguments: [3, 15, 75] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedHMC5883L(name: "twin", world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x1E, world: world, clock: clock).run(
      .hmc5883l, rateHz: rateHz, fieldTolerance: rateHz < 10 ? 5 : 2.5)
  }

  @Test func `a chip that was left with another gain gives correct values from the first measurement`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedHMC5883L(name: "twin", world: world, clock: clock) { true }
    let registers = I2CRegisters(chip, address: 0x1E, capacity: 6)
    try registers.write(0xE0, to: 0x01)
    try registers.write(0x01, to: 0x02)
    clock.advance(by: .seconds(1))
    _ = try registers.read(0x03, count: 6)
    try PolledTwinCheck(bus: chip, address: 0x1E, world: world, clock: clock).run(
      .hmc5883l, rateHz: 15, fieldTolerance: 2.5)
  }

  @Test func `the simulated chip marks an overflow, and stores nothing after a partial read`() throws {
    var world = World(start: clock.now.advanced(by: .seconds(-100)))
    world.magneticField = SIMD3(0, 0, 300)
    let chip = SimulatedHMC5883L(name: "twin", world: world, clock: clock) { true }
    let registers = I2CRegisters(chip, address: 0x1E, capacity: 6)
    // This field is beyond the range of the previous gain, which the first measurement still has, but not of the new
    // gain.
    try registers.write(0xE0, to: 0x01)
    try registers.write(0x00, to: 0x02)
    clock.advance(by: .milliseconds(70))
    #expect(Array(try registers.read(0x05, count: 2)) == [0xF0, 0x00])
    #expect(try registers.read(0x09) == 0x03)
    clock.advance(by: .seconds(1))
    #expect(Array(try registers.read(0x05, count: 2)) == [0xF0, 0x00])
    _ = try registers.read(0x03, count: 6)
    #expect(try registers.read(0x09) == 0x01)
    clock.advance(by: .seconds(1))
    let z = try registers.read(0x03, count: 6)
    #expect(abs(Int(z[2]) << 8 + Int(z[3]) - 690) < 5)
  }
}
