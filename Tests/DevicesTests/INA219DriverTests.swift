import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct INA219DriverTests {
  typealias Step = PlaybackBus.Step

  static let start = [
    Step("configuration", [0x00], read: [0x39, 0x9F]),
    Step("bus", [0x02], read: [0x5D, 0x9A]),
    Step("calibration", [0x05], read: [0x00, 0x00]),
    Step("shunt", [0x01], read: [0x07, 0xD0]),
    Step("current", [0x04], read: [0x00, 0x00]),
    Step("power", [0x03], read: [0x00, 0x00]),
    Step("maker of others", [0xFE], read: [0x00, 0x00]),
    Step("maker of the latest", [0x3E], read: [0x00, 0x00]),
    Step("reset", [0x00, 0x80, 0x00]),
    Step("32 V, 320 mV, bus once, shunt 128 times, for ever", [0x00, 0x39, 0xFF]),
    Step("take away what is ready", [0x03], read: [0x00, 0x00]),
  ]
  static let ready = Step("new, and 11.98 V", [0x02], read: [0x5D, 0x9A])
  static let taken = Step("take away the mark", [0x03], read: [0x00, 0x00])
  static let configured = Step("still configured", [0x00], read: [0x39, 0xFF])

  let clock = ManualClock()

  private func driver(
    _ steps: [Step], rateHz: Double = 10
  ) -> (any PolledDriver<SupplySample>, PlaybackBus) {
    let bus = PlaybackBus(steps, address: 0x45)
    let driver = SupplyMonitorChip.ina219.driver(
      ChipConnection(bus: bus, address: 0x45, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: rateHz))
    return (driver, bus)
  }

  @Test func `the data sheet's example gives one measurement, and the chip is powered down`() throws {
    let (driver, bus) = driver(
      INA219DriverTests.start + [
        Step("nothing new", [0x02], read: [0x5D, 0x98]),
        INA219DriverTests.ready, INA219DriverTests.taken,
        Step("20 mV", [0x01], read: [0x07, 0xD0]),
        Step("11.98 V", [0x02], read: [0x5D, 0x98]), INA219DriverTests.configured,
        Step("nothing new", [0x02], read: [0x5D, 0x98]),
        Step("power down", [0x00, 0x39, 0x98]),
      ])
    try driver.start()
    #expect(try driver.read() == nil)
    clock.advance(by: .milliseconds(100))
    let sample = try #require(try driver.read())
    #expect(abs(sample.volts - 11.98) < 1e-9)
    #expect(abs(sample.shuntVolts - 0.02) < 1e-9)
    // 68.632 ms; a new sample is half a period old, on average.
    #expect(abs((clock.now - sample.at).inSeconds - 0.034316) < 1e-6)
    #expect(try driver.read() == nil)
    driver.stop()
    bus.finish()
  }

  @Test func `current may flow from the load, as into a battery`() throws {
    let (driver, bus) = driver(
      INA219DriverTests.start + [
        INA219DriverTests.ready, INA219DriverTests.taken, Step("-10 mV", [0x01], read: [0xFC, 0x18]),
        Step("5.1 V", [0x02], read: [0x27, 0xD8]), INA219DriverTests.configured,
      ])
    try driver.start()
    let sample = try #require(try driver.read())
    #expect(abs(sample.shuntVolts + 0.01) < 1e-9)
    #expect(abs(sample.volts - 5.1) < 1e-9)
    bus.finish()
  }

  @Test func `a measurement that completes during a read replaces the older one, and is returned once`() throws {
    let (driver, bus) = driver(
      INA219DriverTests.start + [
        INA219DriverTests.ready, INA219DriverTests.taken, Step("20 mV", [0x01], read: [0x07, 0xD0]),
        Step("new again, and 5.1 V", [0x02], read: [0x27, 0xDA]), INA219DriverTests.taken,
        Step("60 mV", [0x01], read: [0x17, 0x70]), Step("5.1 V", [0x02], read: [0x27, 0xD8]),
        INA219DriverTests.configured, Step("nothing new", [0x02], read: [0x27, 0xD8]),
      ])
    try driver.start()
    let sample = try #require(try driver.read())
    #expect(abs(sample.shuntVolts - 0.06) < 1e-9)
    #expect(abs(sample.volts - 5.1) < 1e-9)
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test(
    arguments: [([0x7D, 0x00], false), ([0x83, 0x00], false), ([0x7C, 0xFF], true), ([0x83, 0x01], true)]
      as [([UInt8], Bool)])
  func `a value at the end of the scale is not a measurement`(_ shunt: [UInt8], _ isGood: Bool) throws {
    let (driver, bus) = driver(
      INA219DriverTests.start + [
        INA219DriverTests.ready, INA219DriverTests.taken, Step("the shunt", [0x01], read: shunt),
        Step("5.1 V", [0x02], read: [0x27, 0xD8]),
      ] + (isGood ? [INA219DriverTests.configured] : []))
    try driver.start()
    #expect(try (driver.read() != nil) == isGood)
    bus.finish()
  }

  @Test(arguments: [[0x00, 0x00], [0xFF, 0xFF], [0x5D, 0x9B], [0x5D, 0x9E]] as [[UInt8]])
  func `a hung bus or an overflow gives no measurement`(_ bytes: [UInt8]) throws {
    let (driver, bus) = driver(INA219DriverTests.start + [Step("the bus voltage", [0x02], read: bytes)])
    try driver.start()
    #expect(try driver.read() == nil)
    bus.finish()
  }

  @Test func `a bus that starts to hang or a chip that was reset gives no measurement`() throws {
    let nothing: [UInt8] = [0x00, 0x00]
    let all: [UInt8] = [0xFF, 0xFF]
    let (driver, bus) = driver(
      INA219DriverTests.start + [
        INA219DriverTests.ready, Step("hangs", [0x03], read: nothing), Step("hangs", [0x01], read: nothing),
        Step("hangs", [0x02], read: nothing), Step("hangs", [0x00], read: nothing),
        INA219DriverTests.ready, Step("hangs", [0x03], read: all), Step("hangs", [0x01], read: all),
        Step("hangs", [0x02], read: all),
        INA219DriverTests.ready, INA219DriverTests.taken, Step("20 mV", [0x01], read: [0x07, 0xD0]),
        Step("11.98 V", [0x02], read: [0x5D, 0x98]), Step("as after a reset", [0x00], read: [0x39, 0x9F]),
      ])
    try driver.start()
    for _ in 0..<3 { #expect(try driver.read() == nil) }
    bus.finish()
  }

  @Test(arguments: SupplyMonitorImpostor.ofINA219)
  func `another chip is refused`(_ impostor: SupplyMonitorImpostor) {
    let driver = SupplyMonitorChip.ina219.driver(
      ChipConnection(bus: impostor, address: 0x48, clock: clock, pause: { _ in }), PolledConfiguration(rateHz: 10))
    #expect(throws: HardwareError.unexpectedDevice("the chip at 0x48 on impostor is not an INA219")) {
      try driver.start()
    }
  }

  @Test func `a chip that another program has used is recognised in any state`() throws {
    let world = World(start: clock.now)
    let chip = SimulatedINA219(name: "twin", supply: SimulatedSupply(clock: clock), world: world, clock: clock) { true }
    let registers = I2CRegisters(chip, address: 0x40, capacity: 2)
    // The chip is configured as the kernel and the usual libraries leave it.
    for (configuration, calibration) in [(0x399F, 4096), (0x199F, 20480), (0x3EEF, 10240), (0x3998, 10240)] {
      try registers.writeWord(UInt16(calibration), to: 0x05)
      try registers.writeWord(UInt16(configuration), to: 0x00)
      clock.advance(by: .milliseconds(100))
      #expect(try registers.readWord(0x04) != 0)
      #expect(try SupplyMonitorChip.ina219.identity.isTrue(of: registers))
    }
  }

  @Test func `the catalogue states the chip's actual rates`() {
    let rates = [0.5, 15, 16, 30, 31, 50, 57].map { (SupplyMonitorChip.ina219.rate(nearest: $0) * 100).rounded() / 100 }
    #expect(rates == [14.57, 14.57, 28.92, 28.92, 56.97, 56.97, 56.97])
  }

  @Test(arguments: [2, 25, 50] as [Double])
  func `driver and simulated chip agree on rate and units`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let supply = SimulatedSupply(clock: clock)
    let chip = SimulatedINA219(name: "twin", supply: supply, world: world, clock: clock) { true }
    try PolledTwinCheck(bus: chip, address: 0x40, world: world, clock: clock).run(
      .ina219, rateHz: rateHz, supply, tolerance: 0.0005)
  }

  @Test func `the simulated chip calculates as in the data sheet's example`() throws {
    var world = World(start: clock.now)
    world.noiseScale = 0
    let supply = SimulatedSupply(
      clock: clock, openVolts: 12, sourceOhms: 0, shuntOhms: 0.002, amperes: 10, swingAmperes: 0)
    let chip = SimulatedINA219(name: "twin", supply: supply, world: world, clock: clock) { true }
    let registers = I2CRegisters(chip, address: 0x40, capacity: 2)
    try registers.writeWord(0x5000, to: 0x05)
    clock.advance(by: .microseconds(1100))
    #expect(try registers.readWord(0x01) == 2000)
    #expect(try registers.readWord(0x02) == 0x5D9A)
    #expect(try registers.readWord(0x04) == 10000)
    #expect(try registers.readWord(0x03) == 5990)
    // The previous read cleared the mark.
    #expect(try registers.readWord(0x02) == 0x5D98)
  }

  @Test func `a value beyond the scale gives no sample, and reading continues`() throws {
    let supply = SimulatedSupply(clock: clock)
    let chip = SimulatedINA219(name: "twin", supply: supply, world: World(start: clock.now), clock: clock) { true }
    let driver = SupplyMonitorChip.ina219.driver(
      ChipConnection(bus: chip, address: 0x40, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 10))
    try driver.start()
    supply.load("short", amperes: 3)
    clock.advance(by: .milliseconds(200))
    #expect(try driver.read() == nil)
    supply.load("short", amperes: 0)
    clock.advance(by: .milliseconds(200))
    #expect(try driver.read() != nil)
  }
}
