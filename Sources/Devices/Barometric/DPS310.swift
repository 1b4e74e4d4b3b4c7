import HardwareIO
import MonotonicTime

/// Registers of the DPS310, by the names of its data sheet.
///
/// Pitfalls:
///
/// - A raw value must be divided by a factor that depends on the oversampling. With 16 or more samples, the chip must
///   also shift the value, which is a separate setting.
/// - The coefficients belong to one of two temperature sensors. COEF_SRCE states which one.
/// - The coefficients are available only 40 ms after a reset.
/// - Some chips measure 60 degrees instead of 20 until they are corrected through registers that the data sheet does
///   not name.
enum DPS310Register {
  /// PSR_B2 and following: pressure and then temperature, 24 bits each, high byte first.
  static let data: UInt8 = 0x00
  /// PRS_CFG: rate and oversampling of the pressure.
  static let pressureConfiguration: UInt8 = 0x06
  /// TMP_CFG: the sensor, the rate and the oversampling of the temperature.
  static let temperatureConfiguration: UInt8 = 0x07
  /// MEAS_CFG: the flags of ready values, and the mode.
  static let measurement: UInt8 = 0x08
  /// CFG_REG: shifts, interrupts and FIFO.
  static let configuration: UInt8 = 0x09
  /// RESET.
  static let reset: UInt8 = 0x0C
  /// Product ID.
  static let productID: UInt8 = 0x0D
  /// COEF: 18 bytes.
  static let coefficients: UInt8 = 0x10
  /// COEF_SRCE: the temperature sensor that the coefficients belong to.
  static let coefficientSource: UInt8 = 0x28

  // Registers that the data sheet does not name: the correction of the temperature, and the keys that unlock it.
  static let unlock1: UInt8 = 0x0E
  static let unlock2: UInt8 = 0x0F
  static let mendedStatus: UInt8 = 0x32
  static let mend: UInt8 = 0x62

  static let identity: UInt8 = 0x10
  static let softReset: UInt8 = 0x09
  /// Sensor and coefficients are ready.
  static let isReady: UInt8 = 0xC0
  static let pressureIsNew: UInt8 = 0x10
  static let temperatureIsNew: UInt8 = 0x20
  static let idle: UInt8 = 0x00
  /// Pressure and temperature are measured continuously.
  static let background: UInt8 = 0x07
  /// Selects the temperature sensor next to the pressure sensor. The bit is the same in both registers that select a
  /// temperature sensor.
  static let externalTemperature: UInt8 = 0x80
  static let pressureShift: UInt8 = 0x04
  static let isMended: UInt8 = 0x02
  static let unlock1Key: UInt8 = 0xA5
  static let unlock2Key: UInt8 = 0x96
  static let mendCommand: UInt8 = 0x02
  static let locked: UInt8 = 0x00
}

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

/// The calibration coefficients of a DPS310, and the formulas that convert raw values with them (data sheet, section
/// 4.9).
struct DPS310Coefficients: Sendable {
  private let t: (c0: Double, c1: Double)
  private let p: (c00: Double, c10: Double, c01: Double, c11: Double, c20: Double, c21: Double, c30: Double)

  /// - Parameter bytes: 18 bytes from the coefficients' first register on
  init(_ bytes: UnsafeRawBufferPointer) {
    func byte(_ offset: Int) -> Int { Int(bytes[offset]) }
    func signed(_ number: Int, bits: Int) -> Double { Double(number < 1 << (bits - 1) ? number : number - 1 << bits) }
    func whole(_ offset: Int) -> Double { Double(bytes.bigEndian(at: offset)) }
    let c0 = byte(0) << 4 | byte(1) >> 4
    let c1 = (byte(1) & 0x0F) << 8 | byte(2)
    t = (signed(c0, bits: 12), signed(c1, bits: 12))
    let c00 = byte(3) << 12 | byte(4) << 4 | byte(5) >> 4
    let c10 = (byte(5) & 0x0F) << 16 | byte(6) << 8 | byte(7)
    p = (signed(c00, bits: 20), signed(c10, bits: 20), whole(8), whole(10), whole(12), whole(14), whole(16))
  }

  /// The temperature in degrees Celsius.
  ///
  /// - Parameter scaled: the raw number divided by the scale factor of its oversampling
  func temperature(_ scaled: Double) -> Double { t.c0 / 2 + t.c1 * scaled }

  /// The pressure in Pa.
  ///
  /// - Parameters:
  ///   - scaled: the raw number divided by the scale factor of its oversampling
  ///   - temperature: the raw number of the temperature divided by its scale factor
  func pressure(_ scaled: Double, temperature: Double) -> Double {
    let cold = p.c00 + scaled * (p.c10 + scaled * (p.c20 + scaled * p.c30))
    return cold + temperature * (p.c01 + scaled * (p.c11 + scaled * p.c21))
  }
}

extension BarometerChip {
  static var dps310: BarometerChip {
    BarometerChip(
      name: "dps310", title: "DPS310", addresses: [0x77, 0x76],
      identity: ChipIdentity(register: DPS310Register.productID, values: [DPS310Register.identity]),
      provenAgainst: "Linux (dps310)",
      // The currents are for 16 Hz, when the chip measures half of the time, and for idle.
      milliamperes: 0.2, sleepMilliamperes: 0.0005, ratesHz: 1...128,
      actualRate: { DPS310Rate(nearest: $0).hertz },
      makeDriver: { DPS310Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(DPS310Register.idle, to: DPS310Register.measurement)
      })
  }
}
