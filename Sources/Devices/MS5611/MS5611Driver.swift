import HardwareIO
import MonotonicTime

/// Driver of the MS5611, which measures only on command, and only the pressure or the temperature at a time.
///
/// A read does not wait: it takes the result of the last conversion, and starts the next conversion. After each
/// sample, the next reads convert the temperature first and the pressure second. The result of the pressure stays in
/// the chip until the next sample is due. A sample therefore takes at least three reads.
final class MS5611Driver: PolledDriver {
  private enum Quantity {
    case pressure, temperature
  }

  /// The maximum conversion time with the greatest oversampling, and half of the typical time.
  private static let conversionTime = Duration.microseconds(9040)
  private static let halfConversionTime = Duration.microseconds(4110)

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let period: Duration
  private var prom: MS5611PROM?
  /// The chip's conversion, running or finished, and the time of its start.
  private var conversion: (quantity: Quantity, began: MonotonicInstant)?
  private var temperature: Int?
  /// The earliest time of the next sample.
  private var due = MonotonicInstant(nanoseconds: 0)

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 3)
    period = .nanoseconds(Int64(1e9 / MS5611Rate(nearest: configuration.rateHz).hertz))
  }

  func start() throws(HardwareError) {
    let chip = BarometerChip.ms5611
    try chip.identity.require(chip.title, of: registers)
    try registers.send(MS5611Command.reset)
    // The PROM is available again after 2.8 ms.
    connection.pause(.milliseconds(3))
    let prom = try MS5611PROM(registers)
    guard prom.isGenuine else {
      throw .unexpectedDevice(
        "the MS5611 at 0x\(String(registers.address, radix: 16)) on \(registers.bus.name) has invalid calibration data")
    }
    try begin(.temperature)
    connection.pause(.milliseconds(10))
    temperature = try result()
    try begin(.pressure)
    self.prom = prom
    // A caller that reads once per period then reads in the middle between two due times, so no read is slightly too
    // early.
    due = connection.clock.now + period / 2
  }

  func read() throws(HardwareError) -> BarometerSample? {
    guard let prom, let conversion else { return nil }
    let now = connection.clock.now
    guard now - conversion.began >= MS5611Driver.conversionTime else { return nil }
    switch conversion.quantity {
    case .temperature:
      temperature = try result()
      // If the temperature is missing, measure it again.
      try begin(temperature == nil ? .temperature : .pressure)
      return nil
    case .pressure:
      guard now >= due else { return nil }
      let pressure = try result()
      due = max(due + period, now)
      try begin(.temperature)
      guard let pressure, let temperature else { return nil }
      let (pascals, celsius) = prom.pressureAndTemperature(pressure, temperature)
      return BarometerSample(
        goodAt: conversion.began + MS5611Driver.halfConversionTime, pressurePascals: pascals,
        temperatureCelsius: celsius)
    }
  }

  /// Sends nothing to the chip: a running conversion ends by itself, and then the chip sleeps.
  func stop() { conversion = nil }

  private func begin(_ quantity: Quantity) throws(HardwareError) {
    let command =
      switch quantity {
      case .pressure: MS5611Command.convertPressure
      case .temperature: MS5611Command.convertTemperature
      }
    try registers.send(command)
    conversion = (quantity, connection.clock.now)
  }

  /// The result of the conversion. Returns `nil` if there is none, for example after a reset by another program, or on
  /// a stuck bus.
  private func result() throws(HardwareError) -> Int? {
    let bytes = try registers.read(MS5611Command.readResult, count: 3)
    let number = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
    return number == 0 || number == 0xFF_FFFF ? nil : number
  }
}

/// A rate of the MS5611. The chip has no rates of its own, so any rate works that leaves time for two conversions.
struct MS5611Rate {
  let hertz: Double

  init(nearest requested: Double) { hertz = min(max(requested, 0.5), 50) }
}
