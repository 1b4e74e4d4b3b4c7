/// Registers of the BMP388 and BMP390, by the names of their data sheets (BST-BMP388-DS001; BST-BMP390-DS002), which
/// have the same map.
///
/// Pitfalls:
///
/// - Raw values have no meaning without the chip's own coefficients.
/// - A rate that leaves no time for the oversampling is a configuration error, and the chip falls asleep instead of
///   measuring.
/// - The low byte of a value comes first; in the BMP280, the high byte comes first.
enum BMP390Register {
  /// CHIP_ID.
  static let chipID: UInt8 = 0x00
  /// STATUS: flags of new measurements, and whether a command is accepted.
  static let status: UInt8 = 0x03
  /// DATA_0 and following: pressure and temperature, 24 bits each, low byte first.
  static let data: UInt8 = 0x04
  /// PWR_CTRL: the mode, and the enabled sensors.
  static let powerControl: UInt8 = 0x1B
  /// OSR: oversampling.
  static let oversampling: UInt8 = 0x1C
  /// ODR: rate.
  static let rate: UInt8 = 0x1D
  /// CONFIG: filter.
  static let configuration: UInt8 = 0x1F
  /// NVM_PAR_T1 and following: 21 bytes of coefficients, low byte first.
  static let coefficients: UInt8 = 0x31
  /// CMD.
  static let command: UInt8 = 0x7E

  static let bmp388: UInt8 = 0x50
  static let bmp390: UInt8 = 0x60
  static let resetCommand: UInt8 = 0xB6
  static let takesCommands: UInt8 = 0x10
  /// Pressure and temperature are new.
  static let bothAreNew: UInt8 = 0x60
  /// Pressure and temperature are measured continuously.
  static let normalMode: UInt8 = 0x33
  static let sleepMode: UInt8 = 0x00
  static let noFilter: UInt8 = 0x00
  /// The raw pressure or temperature before the first measurement, 24 bits.
  static let nothing = 0x800000
}
