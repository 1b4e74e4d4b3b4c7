/// Registers of the LPS22HB, by the names of its data sheet (DocID027083, revision 6).
///
/// Pitfalls:
///
/// - For consistent values, the high byte of the pressure must be read last, so the temperature must be read first.
/// - Before the first measurement, the pressure register holds a plausible value.
enum LPS22HBRegister {
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x0F
  /// CTRL_REG1: rate, filter, and whether the bytes of a number change together.
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
