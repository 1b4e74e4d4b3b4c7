/// Registers of the QMC5883L, by the names of its data sheet (QST, revision 1.0, chapter 9).
///
/// Pitfalls:
///
/// - The chip is sold as an HMC5883L, but has a different address, different registers and a different order of axes.
/// - The identity is a byte that an idle bus returns as well, so it is reliable only after another read.
/// - A read of only some of the six bytes prevents the next measurement from being stored.
/// - Without the set/reset period the chip's offset drifts.
enum QMC5883LRegister {
  /// x, y and z in order, low byte first, 00H to 05H.
  static let output: UInt8 = 0x00
  /// The flags of a new measurement and of an overflow, 06H.
  static let status: UInt8 = 0x06
  /// Oversampling, range, rate and mode, 09H.
  static let control1: UInt8 = 0x09
  /// Reset, 0AH.
  static let control2: UInt8 = 0x0A
  /// The period of the sensor's set/reset pulses, 0BH.
  static let setResetPeriod: UInt8 = 0x0B
  /// Chip ID, 0DH.
  static let chipID: UInt8 = 0x0D

  static let identity: UInt8 = 0xFF

  static let reset: UInt8 = 0x80
  /// The value that the data sheet recommends.
  static let recommendedPeriod: UInt8 = 0x01
  /// The average of 512 samples, which has the least noise.
  static let oversampling512: UInt8 = 0x00
  /// The full scale of 8 gauss, with 3000 units per gauss.
  static let fullScale8Gauss: UInt8 = 0x10
  static let unitsPerGauss: Float = 3000
  static let continuous: UInt8 = 0x01
  static let standby: UInt8 = 0x00
  // Status
  static let isNew: UInt8 = 0x01
  static let isOverflow: UInt8 = 0x02
}
