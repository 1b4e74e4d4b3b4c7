/// Registers of the AK09916, by the names of the ICM-20948's data sheet (DS-000189, revision 1.3, chapters 12, 13).
///
/// Pitfalls:
///
/// - In an ICM-20948 it answers only while that chip's bypass is on.
/// - After one of its bytes is read, a measurement stays until status 2 is read, which follows an unused byte.
/// - Another mode is accepted only from power-down.
/// - Its y and z point against those of the ICM-20948.
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
