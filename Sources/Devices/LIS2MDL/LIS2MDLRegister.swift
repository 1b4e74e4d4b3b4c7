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
  /// CFG_REG_C: whether both bytes of a number change together.
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
