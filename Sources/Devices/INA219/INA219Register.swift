/// Registers of the INA219, of 16 bits, high byte first, by the names and sections of its data sheet (SBOS448G).
///
/// Pitfalls:
///
/// - The chip has no identity register.
/// - The flag of a new measurement is in the bus voltage's register. Reading the power clears it.
/// - A read does not continue with the next register.
/// - The chip measures shunt and bus one after the other. While it measures one, it does not observe the other.
/// - The lowest rate is 15 measurements a second.
enum INA219Register {
  /// Reset, ranges, averages and mode, 8.6.2.1.
  static let configuration: UInt8 = 0x00
  /// Shunt voltage, signed, 8.6.3.1.
  static let shuntVoltage: UInt8 = 0x01
  /// Bus voltage in bits 3 to 15, and flags below, 8.6.3.2.
  static let busVoltage: UInt8 = 0x02
  /// Power, 8.6.3.3. Reading it clears the flag of a new measurement.
  static let power: UInt8 = 0x03
  /// Current, signed, 8.6.3.4.
  static let current: UInt8 = 0x04
  /// Calibration, 8.6.4.1. Without it, current and power are 0.
  static let calibration: UInt8 = 0x05

  static let reset: UInt16 = 0x8000
  /// The configuration bits that always read as 0: reset, and an unused one.
  static let configurationZeros: UInt16 = 0xC000
  /// The bus range of 32 V instead of 16.
  static let wideBus: UInt16 = 0x2000
  /// The shunt's full scale: 40 mV, doubled up to three times.
  static let gain: UInt16 = 0x1800
  /// Continuous measurement with ranges of 32 V and 320 mV, and one 12-bit measurement of the bus. The bits 6:3
  /// for the number of averaged shunt measurements are 0; the driver adds them.
  static let continuous: UInt16 = 0x3987
  /// The value after a reset, except for the mode: powered down.
  static let poweredDown: UInt16 = 0x3998

  static let isReady: UInt16 = 0x0002
  /// The bits of the bus voltage's register that must be 0: the overflow of the calculated values, which the driver
  /// does not use, and an unused bit.
  static let busZeros: UInt16 = 0x0005
  static let voltsPerUnit = 0.004
  static let shuntVoltsPerUnit = 0.000_01
  /// The full scales of the bus range of 16 V, and of the shunt ranges of 40 mV and 320 mV, in the units above.
  static let busLimit: UInt16 = 4000
  static let shuntLimit = 4000
  static let widestShuntLimit: UInt16 = 32000
}
