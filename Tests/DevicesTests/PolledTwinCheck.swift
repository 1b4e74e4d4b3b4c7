import Devices
import HardwareIO
import MonotonicTime
import Simulation
import Testing

/// Whether a driver's readings of a chip's twin agree with the simulated vehicle, in rate, units and axes.
struct PolledTwinCheck {
  let bus: any I2CBus
  let address: UInt8
  let world: World
  let clock: ManualClock

  /// - Parameters:
  ///   - fieldTolerance: in microtesla
  func run(_ chip: MagnetometerChip, rateHz: Double, fieldTolerance: Double) throws {
    try run(chip, rateHz: rateHz) { sample in
      let error = SIMD3<Double>(sample.field) - world.truth(at: sample.at).magneticField
      #expect((error * error).max().squareRoot() < fieldTolerance, "\(error)")
    }
  }

  func run(_ chip: BarometerChip, rateHz: Double, pressureTolerance: Double, hasHumidity: Bool = false) throws {
    try run(chip, rateHz: rateHz) { sample in
      #expect(abs(sample.pressurePascals - world.truth(at: sample.at).pressurePascals) < pressureTolerance)
      #expect(abs(sample.temperatureCelsius - world.temperatureCelsius) < 0.1)
      #expect((sample.humidityPercent != nil) == hasHumidity)
      if let humidity = sample.humidityPercent { #expect(abs(humidity - world.humidityPercent) < 0.2) }
    }
  }

  /// - Parameter tolerance: in volts across the shunt, the change during one measurement
  func run(_ chip: SupplyMonitorChip, rateHz: Double, _ supply: SimulatedSupply, tolerance: Double) throws {
    try run(chip, rateHz: rateHz) { sample in
      #expect(abs(sample.volts - supply.volts(at: sample.at)) < 0.015)
      #expect(abs(sample.shuntVolts - supply.amperes(at: sample.at) * supply.shuntOhms) < tolerance)
    }
  }

  private func run<Sample>(
    _ chip: Chip<any PolledDriver<Sample>, PolledConfiguration>, rateHz: Double, check: (Sample) -> Void
  ) throws {
    let driver = chip.driver(
      ChipConnection(bus: bus, address: address, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: rateHz))
    // A chip has its own rates, and none of them is much slower than the requested one.
    let rate = chip.rate(nearest: rateHz)
    #expect(rate >= 0.95 * rateHz)
    // A read returns nothing before the first measurement.
    try driver.start()
    #expect(try driver.read() == nil)
    // The chip is read much more often than it measures, and each measurement is returned once.
    let began = clock.now
    var count = 0
    for _ in 0..<500 {
      clock.advance(by: .nanoseconds(Int64(0.1e9 / rate)))
      guard let sample = try driver.read() else { continue }
      count += 1
      check(sample)
    }
    let expected = (clock.now - began).inSeconds * rate
    #expect(abs(Double(count) - expected) < 0.1 * expected + 2, "\(count) of \(expected)")
    // After a long pause the newest measurement counts.
    clock.advance(by: .seconds(60))
    #expect(try driver.read().map(check) != nil)
    // A sleeping chip does not measure. After the remaining measurement is read, none follows.
    driver.stop()
    clock.advance(by: .seconds(10))
    _ = try driver.read()
    clock.advance(by: .seconds(10))
    #expect(try driver.read() == nil)
    // The same is true for a chip that was put to sleep knowing only its address.
    try driver.start()
    try chip.sleep(on: bus, address: address)
    clock.advance(by: .seconds(10))
    _ = try driver.read()
    clock.advance(by: .seconds(10))
    #expect(try driver.read() == nil)
    // The chip can be started again.
    try driver.start()
    clock.advance(by: .nanoseconds(Int64(3e9 / rate)))
    #expect(try driver.read().map(check) != nil)
  }
}
