/// Registers of the AK09916, by the names of the ICM-20948's data sheet (DS-000189, revision 1.3, chapters 12, 13).
///
/// Pitfalls:
///
/// - In an ICM-20948, the AK09916 answers only while the bypass of the ICM-20948 is on.
/// - After any byte of a measurement is read, the output registers keep that measurement until status 2 is read. An
///   unused byte precedes status 2.
/// - The chip accepts a mode only when it is powered down.
/// - The y and z axes are opposite to the y and z axes of the ICM-20948.
enum AK09916Register {
  /// WIA1 and WIA2, 13.1: the identities of the manufacturer (AKM) and of the chip.
  static let whoIAm: UInt8 = 0x00
  /// ST1, 13.2.
  static let status1: UInt8 = 0x10
  /// HXL to HZH, 13.3: x, y and z in order, low byte first. TMPS, an unused byte, and ST2 (13.4) follow.
  static let output: UInt8 = 0x11
  /// CNTL2, 13.5: mode in bits 4:0.
  static let control2: UInt8 = 0x31
  /// CNTL3, 13.6.
  static let control3: UInt8 = 0x32

  static let identity: [UInt8] = [0x48, 0x09]

  // Status 1
  static let isNew: UInt8 = 0x01
  // Status 2
  static let isOverflow: UInt8 = 0x08
  // Control 2
  static let poweredDown: UInt8 = 0x00
  // Control 3
  static let reset: UInt8 = 0x01

  /// The unit of the output, table 22.
  static let microteslaPerUnit: Float = 0.15
}
