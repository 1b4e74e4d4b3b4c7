/// Registers of the LIS2MDL, by the names of its data sheet; the IIS2MDC is the same chip for industry,
/// and the magnetometer of the LSM303AGR is the same again.
///
/// Traps: the axes are drawn left-handed; the registers begin at 0x45; the compensation of temperature is off after a
/// reset and has to be on; there is no flag for an overflow of the numbers.
enum LIS2MDLRegister {
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x4F
  /// CFG_REG_A: compensation of temperature, reset, rate and mode.
  static let configurationA: UInt8 = 0x60
  /// CFG_REG_B: cancellation of the offset.
  static let configurationB: UInt8 = 0x61
  /// CFG_REG_C: whether both bytes of a number change together.
  static let configurationC: UInt8 = 0x62
  /// STATUS_REG: the marks of new measurements.
  static let status: UInt8 = 0x67
  /// OUTX_L_REG: x, y and z follow each other, low byte first.
  static let output: UInt8 = 0x68

  static let identity: UInt8 = 0x40

  static let temperatureCompensation: UInt8 = 0x80
  static let reset: UInt8 = 0x20
  static let continuous: UInt8 = 0x00
  static let idle: UInt8 = 0x03
  static let offsetCancellation: UInt8 = 0x02
  static let blockUpdate: UInt8 = 0x10
  static let allAxesAreNew: UInt8 = 0x08
  /// 1.5 milligauss.
  static let microteslaPerUnit: Float = 0.15
}
