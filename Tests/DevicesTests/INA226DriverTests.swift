import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct INA226DriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("maker", [0xFE], read: [0x54, 0x49]),
    Step("die, of the second revision", [0xFF], read: [0x22, 0x61]),
    Step("reset", [0x00, 0x80, 0x00]),
    Step("keep alerts", [0x06, 0x00, 0x01]),
    Step("64 times, 8.244 ms and 140 us, for ever", [0x00, 0x46, 0x3F]),
  ]
  static let ready = Step("new", [0x06], read: [0x00, 0x09])
  static let nothingNew = Step("nothing new", [0x06], read: [0x00, 0x01])

  let clock = ManualClock()

  private func driver(_ steps: [Step]) -> (any PolledDriver<SupplySample>, PlaybackBus) {
    let bus = PlaybackBus(INA226DriverTests.start + steps, address: 0x44)
    let driver = SupplyMonitorChip.ina226.driver(
      ChipConnection(bus: bus, address: 0x44, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 1.9))
    return (driver, bus)
  }

  @Test func `the data sheet's example gives one measurement, and the chip is powered down`() throws {
    let (driver, bus) = driver([
      INA226DriverTests.nothingNew, INA226DriverTests.ready,
      Step("20 mV", [0x01], read: [0x1F, 0x40]),
      Step("11.98 V", [0x02], read: [0x25, 0x70]), INA226DriverTests.nothingNew,
      INA226DriverTests.nothingNew,
      Step("power down", [0x00, 0x41, 0x20]),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    clock.advance(by: .seconds(1))
    let sample = try #require(try driver.read())
    #expect(abs(sample.volts - 11.98) < 1e-9)
    #expect(abs(sample.shuntVolts - 0.02) < 1e-9)
    // 64 times 8.384 ms; a new sample is half a period old, on average.
    #expect(abs((clock.now - sample.at).inSeconds - 0.268288) < 1e-6)
    #expect(try driver.read() == nil)
    driver.stop()
    bus.finish()
  }

  @Test func `a measurement that completes during a read replaces the older one, and is returned once`() throws {
    let (driver, bus) = driver([
      INA226DriverTests.ready, Step("20 mV", [0x01], read: [0x1F, 0x40]), Step("11.98 V", [0x02], read: [0x25, 0x70]),
      INA226DriverTests.ready, Step("-10 mV", [0x01], read: [0xF0, 0x60]), Step("5.1 V", [0x02], read: [0x0F, 0xF0]),
      INA226DriverTests.nothingNew, INA226DriverTests.nothingNew,
    ])
    try driver.start()
    let sample = try #require(try driver.read())
    #expect(abs(sample.shuntVolts + 0.01) < 1e-9)
    #expect(abs(sample.volts - 5.1) < 1e-9)
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(
    arguments: [
      ([0x7F, 0xFF], [0x0F, 0xF0], false), ([0x80, 0x00], [0x0F, 0xF0], false), ([0x80, 0x01], [0x0F, 0xF0], false),
      ([0x7F, 0xFE], [0x0F, 0xF0], true), ([0x80, 0x02], [0x0F, 0xF0], true),
      // The maximum rating of the chip is 36 V.
      ([0x00, 0x00], [0x70, 0x80], true), ([0x00, 0x00], [0x70, 0x81], false), ([0x00, 0x00], [0x7F, 0xFF], false),
    ] as [([UInt8], [UInt8], Bool)])
  func `a value at the end of a scale is not a measurement`(
    _ shunt: [UInt8], _ volts: [UInt8], _ isGood: Bool
  ) throws {
    let (driver, bus) = driver([
      INA226DriverTests.ready, Step("the shunt", [0x01], read: shunt), Step("the bus", [0x02], read: volts),
      INA226DriverTests.nothingNew,
    ])
    try driver.start()
    #expect(try (driver.read() != nil) == isGood)
    bus.finish()
  }

  @Test(
    arguments: [
      [0x00, 0x00], [0xFF, 0xFF],
      // The value is that of a reset chip.
      [0x00, 0x08],
    ] as [[UInt8]])
  func `a hung bus or a chip that was reset gives no measurement`(_ bytes: [UInt8]) throws {
    let (driver, bus) = driver([
      Step("hangs", [0x06], read: bytes),
      INA226DriverTests.ready, Step("begins to", [0x01], read: bytes), Step("hang", [0x02], read: bytes),
      Step("hangs", [0x06], read: bytes),
    ])
    try driver.start()
    #expect(try driver.read() == nil)
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(arguments: SupplyMonitorImpostor.ofINA226)
  func `another chip is refused`(_ impostor: SupplyMonitorImpostor) {
    let driver = SupplyMonitorChip.ina226.driver(
      ChipConnection(bus: impostor, address: 0x40, clock: clock, pause: { _ in }), PolledConfiguration(rateHz: 2))
    #expect(throws: HardwareError.unexpectedDevice("the chip at 0x40 on impostor is not an INA226")) {
      try driver.start()
    }
  }

  @Test func `the catalogue states the chip's actual rates`() {
    let requested = [0.4, 0.5, 1, 1.9, 2, 5, 10, 20, 50]
    let rates = requested.map { (SupplyMonitorChip.ina226.rate(nearest: $0) * 100).rounded() / 100 }
    #expect(rates == [0.47, 0.93, 1.86, 1.86, 3.64, 7.45, 14.55, 29.82, 58.19])
  }

  @Test(arguments: [0.4, 2, 10, 20, 50] as [Double])
  func `driver and simulated chip agree on rate and units`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let supply = SimulatedSupply(clock: clock)
    let chip = SimulatedINA226(name: "twin", supply: supply, world: world, clock: clock) { true }
    // A swing of 15 mV in a minute changes at most 1.6 mV a second.
    let tolerance = 0.0002 + 0.0016 / SupplyMonitorChip.ina226.rate(nearest: rateHz)
    try PolledTwinCheck(bus: chip, address: 0x40, world: world, clock: clock).run(
      .ina226, rateHz: rateHz, supply, tolerance: tolerance)
  }

  @Test func `the simulated chip calculates as in the data sheet's example`() throws {
    var world = World(start: clock.now)
    world.noiseScale = 0
    let supply = SimulatedSupply(
      clock: clock, openVolts: 12, sourceOhms: 0, shuntOhms: 0.002, amperes: 10, swingAmperes: 0)
    let chip = SimulatedINA226(name: "twin", supply: supply, world: world, clock: clock) { true }
    let registers = I2CRegisters(chip, address: 0x40, capacity: 2)
    try registers.writeWord(0x0A00, to: 0x05)
    clock.advance(by: .microseconds(2300))
    #expect(try registers.readWord(0x06) == 0x0008)
    // The previous read cleared the flag of a new measurement (bit 3).
    #expect(try registers.readWord(0x06) == 0x0000)
    #expect(try registers.readWord(0x01) == 8000)
    #expect(try registers.readWord(0x02) == 9584)
    #expect(try registers.readWord(0x04) == 10000)
    #expect(try registers.readWord(0x03) == 4792)
  }

  @Test func `a short load between two reads is included in the mean`() throws {
    var world = World(start: clock.now)
    world.noiseScale = 0
    let supply = SimulatedSupply(clock: clock, amperes: 0.5, swingAmperes: 0)
    let chip = SimulatedINA226(name: "twin", supply: supply, world: world, clock: clock) { true }
    let driver = SupplyMonitorChip.ina226.driver(
      ChipConnection(bus: chip, address: 0x40, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 1.9))
    try driver.start()
    clock.advance(by: .milliseconds(200))
    supply.load("gps", amperes: 0.04)
    clock.advance(by: .milliseconds(100))
    supply.load("gps", amperes: 0)
    clock.advance(by: .milliseconds(300))
    let sample = try #require(try driver.read())
    // The current is 40 mA for 100 of 536.576 ms, through 0.1 ohm.
    #expect(abs(sample.shuntVolts - (0.05 + 0.004 * 100 / 536.576)) < 2e-6)
  }

  @Test func `an INA219 and an INA226 are distinguished on one bus`() throws {
    let world = World(start: clock.now)
    let supply = SimulatedSupply(clock: clock)
    let bus = SimulatedI2CBus(
      name: "both",
      chips: [
        SimulatedINA219(name: "both", supply: supply, world: world, clock: clock, address: 0x41) { true },
        SimulatedINA226(name: "both", supply: supply, world: world, clock: clock, address: 0x4F) { true },
      ])
    let found = try ChipProbe.find(on: bus).map { finding in
      switch finding {
      case .chip(let chip, let address): "\(chip.driver?.name ?? "-") \(address)"
      case .unknown(let address): "? \(address)"
      case .taken(let address, _): "taken \(address)"
      }
    }
    #expect(found == ["ina219 65", "ina226 79"])
  }
}
