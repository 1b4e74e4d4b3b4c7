/// Registers of the LSM9DS1's inertial half, by the names of its data sheet (DocID025715, revision 3).
///
/// Pitfalls:
///
/// - The axes of both sensors are left-handed.
/// - The FIFO is read through the output registers of both sensors, six bytes at a time, because other registers lie
///   between the two.
/// - While the gyroscope is on, both sensors have the gyroscope's rate.
/// - The range bits of the accelerometer are not in the order of the ranges, and the unit of 16 g is out of
///   proportion.
/// - The data-ready line stays high until the output registers are read.
enum LSM9DS1Register {
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x0F
  /// CTRL_REG1_G: rate in bits 7:5, full scale in bits 4:3.
  static let gyroscope: UInt8 = 0x10
  /// OUT_TEMP_L, low byte first.
  static let temperature: UInt8 = 0x15
  /// OUT_X_L_G: x, y and z in order, low byte first.
  static let gyroscopeOutput: UInt8 = 0x18
  /// CTRL_REG6_XL: rate in bits 7:5, full scale in bits 4:3.
  static let accelerometer: UInt8 = 0x20
  /// CTRL_REG8.
  static let control8: UInt8 = 0x22
  /// CTRL_REG9.
  static let control9: UInt8 = 0x23
  /// OUT_X_L_XL: x, y and z in order, low byte first.
  static let accelerometerOutput: UInt8 = 0x28
  /// FIFO_CTRL: mode in bits 7:5.
  static let fifoControl: UInt8 = 0x2E
  /// FIFO_SRC: the events, and the number of waiting samples.
  static let fifoSource: UInt8 = 0x2F

  static let identity: UInt8 = 0x68

  // Control 8
  static let softwareReset: UInt8 = 0x01
  static let blockUpdateAndIncrement: UInt8 = 0x44
  // Control 9
  static let fifoOn: UInt8 = 0x02
  // FIFO control: mode, 3.5
  static let fifoBypassed: UInt8 = 0x00
  static let fifoContinuous: UInt8 = 0xC0
  // FIFO source
  static let overrun: UInt8 = 0x40
  static let countBits: UInt8 = 0x3F
}
