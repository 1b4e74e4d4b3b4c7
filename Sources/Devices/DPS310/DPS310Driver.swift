import HardwareIO
import MonotonicTime

/// Driver of the DPS310, a barometer.
final class DPS310Driver: PolledDriver {
  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: DPS310Rate
  private var coefficients: DPS310Coefficients?
  /// Whether the temperature has been measured since the start. Without it, the pressure is meaningless.
  private var knowsTemperature = false

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 18)
    rate = DPS310Rate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    let chip = BarometerChip.dps310
    try chip.identity.require(chip.title, of: registers)
    try registers.write(DPS310Register.softReset, to: DPS310Register.reset)
    // The coefficients are available 40 ms after a reset.
    connection.pause(.milliseconds(40))
    try waitUntilReady()
    coefficients = DPS310Coefficients(try registers.read(DPS310Register.coefficients, count: 18))
    let sensor = try registers.read(DPS310Register.coefficientSource) & DPS310Register.externalTemperature
    try mendTemperature()
    knowsTemperature = false
    try registers.write(rate.bits << 4 | rate.precision.bits, to: DPS310Register.pressureConfiguration)
    try registers.write(sensor | rate.bits << 4, to: DPS310Register.temperatureConfiguration)
    try registers.write(rate.precision.shift, to: DPS310Register.configuration)
    // The chip enters the background mode only from standby.
    try registers.write(DPS310Register.idle, to: DPS310Register.measurement)
    try registers.write(DPS310Register.background, to: DPS310Register.measurement)
  }

  func read() throws(HardwareError) -> BarometerSample? {
    guard let coefficients else { return nil }
    let status = try registers.read(DPS310Register.measurement)
    guard status & DPS310Register.pressureIsNew != 0 else { return nil }
    if status & DPS310Register.temperatureIsNew != 0 { knowsTemperature = true }
    let bytes = try registers.read(DPS310Register.data, count: 6)
    func number(_ offset: Int) -> Int {
      Int(bytes.bigEndian(at: offset)) << 8 | Int(bytes[offset + 2])
    }
    let (pressure, temperature) = (number(0), number(3))
    // A stuck bus returns two equal numbers.
    guard knowsTemperature, pressure != temperature else { return nil }
    let scaledTemperature = Double(temperature) / DPS310Rate.Precision.once.scale
    return BarometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz),
      pressurePascals: coefficients.pressure(
        Double(pressure) / rate.precision.scale, temperature: scaledTemperature),
      temperatureCelsius: coefficients.temperature(scaledTemperature))
  }

  func stop() { try? registers.write(DPS310Register.idle, to: DPS310Register.measurement) }

  private func waitUntilReady() throws(HardwareError) {
    for _ in 0..<5 {
      let status = try registers.read(DPS310Register.measurement)
      if status & DPS310Register.isReady == DPS310Register.isReady { return }
      connection.pause(.milliseconds(10))
    }
    throw .timedOut("the DPS310 at 0x\(String(registers.address, radix: 16)) on \(registers.bus.name)")
  }

  /// Corrects the temperature of some chips, which otherwise measure 60 degrees instead of 20. A flag marks chips that
  /// need no correction.
  private func mendTemperature() throws(HardwareError) {
    guard try registers.read(DPS310Register.mendedStatus) & DPS310Register.isMended == 0 else { return }
    try registers.write(DPS310Register.unlock1Key, to: DPS310Register.unlock1)
    try registers.write(DPS310Register.unlock2Key, to: DPS310Register.unlock2)
    try registers.write(DPS310Register.mendCommand, to: DPS310Register.mend)
    try registers.write(DPS310Register.locked, to: DPS310Register.unlock1)
    try registers.write(DPS310Register.locked, to: DPS310Register.unlock2)
  }
}

/// A rate of the DPS310, and its oversampling of the pressure.
struct DPS310Rate {
  /// The number of samples for one result.
  enum Precision {
    case once, fourTimes, eightTimes, sixteenTimes

    /// The value for PRS_CFG.
    var bits: UInt8 {
      switch self {
      case .once: 0
      case .fourTimes: 2
      case .eightTimes: 3
      case .sixteenTimes: 4
      }
    }

    /// The factor by which a raw number must be divided.
    var scale: Double {
      switch self {
      case .once: 524_288
      case .fourTimes: 3_670_016
      case .eightTimes: 7_864_320
      case .sixteenTimes: 253_952
      }
    }

    /// The value for CFG_REG, which makes the chip shift numbers that would otherwise be too long.
    var shift: UInt8 { self == .sixteenTimes ? DPS310Register.pressureShift : 0 }
  }

  /// The rates and the oversampling of the pressure. All measurements of a second must fit into the second. A pressure
  /// measurement takes 27.6, 14.8, 8.4 or 3.6 ms, with 16, 8, 4 or 1 samples. With each pressure, the chip measures
  /// the temperature once, which takes 3.6 ms.
  private static let all: [(hertz: Double, precision: Precision)] = [
    (1, .sixteenTimes), (2, .sixteenTimes), (4, .sixteenTimes), (8, .sixteenTimes), (16, .sixteenTimes),
    (32, .eightTimes), (64, .fourTimes), (128, .once),
  ]

  let hertz: Double
  /// The bits of the rate in PRS_CFG and TMP_CFG.
  let bits: UInt8
  let precision: Precision

  init(nearest requested: Double) {
    let index = DPS310Rate.all.map(\.hertz).slowestRate(for: requested)
    hertz = DPS310Rate.all[index].hertz
    precision = DPS310Rate.all[index].precision
    bits = UInt8(index)
  }
}
