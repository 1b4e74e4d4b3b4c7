import HardwareIO
import MonotonicTime

/// Registers of the LIS2MDL, by the names of its data sheet. The IIS2MDC is its industrial version, and the LSM303AGR
/// contains the same magnetometer.
///
/// Pitfalls:
///
/// - The axes are left-handed.
/// - The registers begin at 0x45.
/// - The temperature compensation is off after a reset and must be on.
/// - No flag reports that a value is beyond the scale.
enum LIS2MDLRegister {
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x4F
  /// CFG_REG_A: temperature compensation, reset, rate and mode.
  static let configurationA: UInt8 = 0x60
  /// CFG_REG_B: offset cancellation.
  static let configurationB: UInt8 = 0x61
  /// CFG_REG_C: block data update, which keeps both bytes of a number from one measurement.
  static let configurationC: UInt8 = 0x62
  /// STATUS_REG: the flags of new measurements.
  static let status: UInt8 = 0x67
  /// OUTX_L_REG: x, y and z in order, low byte first.
  static let output: UInt8 = 0x68

  static let identity: UInt8 = 0x40

  static let temperatureCompensation: UInt8 = 0x80
  static let reset: UInt8 = 0x20
  static let continuous: UInt8 = 0x00
  static let idle: UInt8 = 0x03
  static let offsetCancellation: UInt8 = 0x02
  static let blockUpdate: UInt8 = 0x10
  static let allAxesAreNew: UInt8 = 0x08
  /// The unit, 1.5 milligauss.
  static let microteslaPerUnit: Float = 0.15
}

/// Driver of the LIS2MDL and the IIS2MDC, which are magnetometers.
final class LIS2MDLDriver: PolledDriver {
  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: LIS2MDLRate

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 6)
    rate = LIS2MDLRate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    let chip = MagnetometerChip.lis2mdl
    try chip.identity.require(chip.title, of: registers)
    try registers.write(LIS2MDLRegister.reset, to: LIS2MDLRegister.configurationA)
    connection.pause(.milliseconds(5))
    try registers.write(LIS2MDLRegister.offsetCancellation, to: LIS2MDLRegister.configurationB)
    try registers.write(LIS2MDLRegister.blockUpdate, to: LIS2MDLRegister.configurationC)
    try registers.write(
      LIS2MDLRegister.temperatureCompensation | rate.bits | LIS2MDLRegister.continuous,
      to: LIS2MDLRegister.configurationA)
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    guard try registers.read(LIS2MDLRegister.status) & LIS2MDLRegister.allAxesAreNew != 0 else { return nil }
    let bytes = try registers.read(LIS2MDLRegister.output, count: 6)
    let units = SIMD3(bytes.littleEndian(at: 0), bytes.littleEndian(at: 2), bytes.littleEndian(at: 4))
    guard units.isWithinScale else { return nil }
    // The chip's axes are left-handed. Keep x and y, which boards have printed on them, and reverse z.
    let axes = SIMD3(Float(units.x), Float(units.y), -Float(units.z))
    return MagnetometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz), field: axes * LIS2MDLRegister.microteslaPerUnit)
  }

  func stop() { try? registers.write(LIS2MDLRegister.idle, to: LIS2MDLRegister.configurationA) }
}

/// A rate that the LIS2MDL supports, with the register value for it.
struct LIS2MDLRate {
  private static let all: [Double] = [10, 20, 50, 100]

  let hertz: Double
  /// The bits for configuration register A.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = LIS2MDLRate.all.slowestRate(for: requested)
    hertz = LIS2MDLRate.all[index]
    bits = UInt8(index) << 2
  }
}

extension MagnetometerChip {
  static var lis2mdl: MagnetometerChip {
    MagnetometerChip(
      name: "lis2mdl", title: "LIS2MDL", addresses: [0x1E],
      identity: ChipIdentity(register: LIS2MDLRegister.whoAmI, values: [LIS2MDLRegister.identity]),
      provenAgainst: "Linux (st_magn)",
      // The currents are for high resolution and 20 Hz with offset cancellation, and for idle.
      milliamperes: 0.235, sleepMilliamperes: 0.0015, ratesHz: 10...100,
      actualRate: { LIS2MDLRate(nearest: $0).hertz },
      makeDriver: { LIS2MDLDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(LIS2MDLRegister.idle, to: LIS2MDLRegister.configurationA)
      })
  }
}
