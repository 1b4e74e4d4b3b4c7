/// Registers of the QMC5883P, by the tables of its data sheet (QST 13-52-19).
///
/// Pitfalls:
///
/// - The registers differ from those of the QMC5883L, although the QMC5883P replaces it on the same boards.
/// - In the mode called continuous the chip measures as fast as it can. Only the normal mode observes the rate.
/// - The signs of the axes are set in a register that is missing in the table of registers but present in all examples.
/// - Reading the status clears the flag of a new measurement.
enum QMC5883PRegister {
  /// Chip ID, table 15.
  static let chipID: UInt8 = 0x00
  /// x, y and z in order, low byte first, table 15.
  static let output: UInt8 = 0x01
  /// The flags of a new measurement and of an overflow, table 16.
  static let status: UInt8 = 0x09
  /// Oversampling, rate and mode, table 17.
  static let control1: UInt8 = 0x0A
  /// Reset, range, and whether set/reset is on, table 18.
  static let control2: UInt8 = 0x0B
  /// The signs of the axes, examples 7.1 to 7.3.
  static let signs: UInt8 = 0x29

  static let identity: UInt8 = 0x80

  static let reset: UInt8 = 0x80
  /// The value in all examples.
  static let usualSigns: UInt8 = 0x06
  /// The full scale of 8 gauss, with 3750 units per gauss, and set/reset on.
  static let fullScale8Gauss: UInt8 = 0x08
  static let unitsPerGauss: Float = 3750
  /// The average of 8 samples, without a filter after it, which would delay the measurement.
  static let oversampling8: UInt8 = 0x00
  static let normal: UInt8 = 0x01
  static let suspended: UInt8 = 0x00
  // Status
  static let isNew: UInt8 = 0x01
  static let isOverflow: UInt8 = 0x02
}
