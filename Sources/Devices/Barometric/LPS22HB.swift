import HardwareIO
import MonotonicTime

/// Registers of the LPS22HB, by the names of its data sheet (DocID027083, revision 6).
///
/// Pitfalls:
///
/// - For consistent values, the high byte of the pressure must be read last, so the temperature must be read first.
/// - Before the first measurement, the pressure register holds a plausible value.
enum LPS22HBRegister {
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x0F
  /// CTRL_REG1: rate, filter, and block data update, which keeps the bytes of a number from one measurement.
  static let control1: UInt8 = 0x10
  /// CTRL_REG2: reset, and whether a burst continues with the next register, which is the default.
  static let control2: UInt8 = 0x11
  /// STATUS: the flags of new measurements.
  static let status: UInt8 = 0x27
  /// PRESS_OUT_XL and following: 24 bits, low byte first.
  static let pressure: UInt8 = 0x28
  /// TEMP_OUT_L and following: 16 bits, low byte first.
  static let temperature: UInt8 = 0x2B

  static let identity: UInt8 = 0xB1
  static let reset: UInt8 = 0x04
  static let blockUpdate: UInt8 = 0x02
  static let poweredDown: UInt8 = 0x00
  /// Temperature and pressure are new.
  static let bothAreNew: UInt8 = 0x03
  /// 4096 units per hectopascal.
  static let unitsPerPascal = 40.96
  static let unitsPerDegree = 100.0
}

/// Driver of the LPS22HB, and of the LPS33HW and LPS35HW, which identify themselves in the same way.
final class LPS22HBDriver: PolledDriver {
  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: LPS22HBRate

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 3)
    rate = LPS22HBRate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    let chip = BarometerChip.lps22hb
    try chip.identity.require(chip.title, of: registers)
    try registers.write(LPS22HBRegister.reset, to: LPS22HBRegister.control2)
    connection.pause(.milliseconds(5))
    try registers.write(rate.bits | LPS22HBRegister.blockUpdate, to: LPS22HBRegister.control1)
  }

  func read() throws(HardwareError) -> BarometerSample? {
    let status = try registers.read(LPS22HBRegister.status)
    guard status & LPS22HBRegister.bothAreNew == LPS22HBRegister.bothAreNew else { return nil }
    let temperature = try registers.read(LPS22HBRegister.temperature, count: 2).littleEndian(at: 0)
    // Read the pressure last: reading its high byte lets the chip store the next measurement of both values.
    let bytes = try registers.read(LPS22HBRegister.pressure, count: 3)
    let pressure = Int(bytes.littleEndian(at: 1)) << 8 | Int(bytes[0])
    return BarometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz),
      pressurePascals: Double(pressure) / LPS22HBRegister.unitsPerPascal,
      temperatureCelsius: Double(temperature) / LPS22HBRegister.unitsPerDegree)
  }

  func stop() { try? registers.write(LPS22HBRegister.poweredDown, to: LPS22HBRegister.control1) }
}

/// A rate that the LPS22HB supports, with the register value for it.
struct LPS22HBRate {
  private static let all: [Double] = [1, 10, 25, 50, 75]

  let hertz: Double
  /// The bits for control register 1.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = LPS22HBRate.all.slowestRate(for: requested)
    hertz = LPS22HBRate.all[index]
    bits = UInt8(index + 1) << 4
  }
}

extension BarometerChip {
  static var lps22hb: BarometerChip {
    BarometerChip(
      name: "lps22hb", title: "LPS22HB", addresses: [0x5C, 0x5D],
      identity: ChipIdentity(register: LPS22HBRegister.whoAmI, values: [LPS22HBRegister.identity]),
      provenAgainst: "Linux (st_press)",
      // 0.3 mA is the current at 25 Hz, in proportion to 0.012 mA at 1 Hz. 0.001 mA is the current when powered down.
      milliamperes: 0.3, sleepMilliamperes: 0.001, ratesHz: 1...75,
      actualRate: { LPS22HBRate(nearest: $0).hertz },
      makeDriver: { LPS22HBDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(LPS22HBRegister.poweredDown, to: LPS22HBRegister.control1)
      })
  }
}
