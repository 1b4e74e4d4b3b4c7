/// Registers of the LIS3MDL, by the names and sections of its data sheet (DocID024204, revision 6).
///
/// Pitfalls:
///
/// - A burst continues with the next register only if the top bit of the register's number is set.
/// - A reset does not stop a conversion.
/// - Two registers set the performance of the axes, one for x and y, and one for z.
enum LIS3MDLRegister {
  /// Identification, 7.1.
  static let whoAmI: UInt8 = 0x0F
  /// Performance and rate of x and y, 7.2.
  static let control1: UInt8 = 0x20
  /// Full scale, reboot and reset, 7.3.
  static let control2: UInt8 = 0x21
  /// Continuous, single or powered down, 7.4.
  static let control3: UInt8 = 0x22
  /// Performance of z, and the order of bytes, 7.5.
  static let control4: UInt8 = 0x23
  /// Whether both bytes of a number change together, 7.6.
  static let control5: UInt8 = 0x24
  /// The flags of new measurements, 7.7.
  static let status: UInt8 = 0x27
  /// x, y and z in order, low byte first, 7.8.
  static let output: UInt8 = 0x28

  static let identity: UInt8 = 0x3D
  /// Makes a burst continue with the next register, 5.1.1.
  static let advancing: UInt8 = 0x80

  static let reset: UInt8 = 0x04
  /// The full scale of 4 gauss, with 6842 units per gauss.
  static let fullScale4Gauss: UInt8 = 0x00
  static let unitsPerGauss: Float = 6842
  /// Ultra-high performance, with a noise of 3.2 milligauss.
  static let ultraHighPerformanceXY: UInt8 = 0x60
  static let ultraHighPerformanceZ: UInt8 = 0x0C
  static let continuous: UInt8 = 0x00
  static let poweredDown: UInt8 = 0x03
  static let blockUpdate: UInt8 = 0x40
  static let allAxesAreNew: UInt8 = 0x08
}
