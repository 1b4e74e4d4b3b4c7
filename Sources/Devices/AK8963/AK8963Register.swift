/// Registers of the AK8963, by the names of its data sheet (MS1356-E-02).
///
/// Pitfalls:
///
/// - In an MPU-9250, the AK8963 answers only while the bypass of the MPU-9250 is on.
/// - After any byte of a measurement is read, the output registers keep that measurement until status 2 is read.
/// - After power-down is set, the chip accepts another mode only after 100 microseconds.
/// - The trim can be read only in the mode `fuseAccess`.
/// - The chip's x axis is the y axis of the MPU-9250, its y axis is the x axis, and its z axis points the other way.
/// - The only rates are 8 Hz and 100 Hz.
enum AK8963Register {
  /// WIA, Device ID; INFO follows, which no data sheet describes.
  static let whoIAm: UInt8 = 0x00
  /// ST1, Status 1.
  static let status1: UInt8 = 0x02
  /// HXL to HZH: x, y and z in order, low byte first. ST2, Status 2, follows.
  static let output: UInt8 = 0x03
  /// CNTL1, Control 1: mode in bits 3:0, and the units.
  static let control1: UInt8 = 0x0A
  /// CNTL2, Control 2.
  static let control2: UInt8 = 0x0B
  /// ASAX, ASAY and ASAZ: Sensitivity Adjustment values.
  static let trim: UInt8 = 0x10

  static let identity: UInt8 = 0x48
  /// The values of the AK09911, AK09912, AK09915, AK09916 and AK09918 at the address of INFO. The other registers of
  /// these chips differ from the AK8963's.
  static let youngerIdentities: [UInt8] = [0x05, 0x04, 0x10, 0x09, 0x0C]

  // Status 1
  static let isNew: UInt8 = 0x01
  // Status 2
  static let isOverflow: UInt8 = 0x08
  /// The bit in status 2 that repeats the 16-bit setting of control 1.
  static let hasFineUnits: UInt8 = 0x10
  // Control 1
  static let poweredDown: UInt8 = 0x00
  static let continuous8Hz: UInt8 = 0x02
  static let continuous100Hz: UInt8 = 0x06
  static let fuseAccess: UInt8 = 0x0F
  /// The output has 16 bits.
  static let fineUnits: UInt8 = 0x10
  static let microteslaPerUnit: Float = 0.15
  // Control 2
  static let reset: UInt8 = 0x01
}
