/// Registers of the INA226, of 16 bits, high byte first, by the names and sections of its data sheet (SBOS547B).
///
/// Pitfalls:
///
/// - Reading mask and enable clears the flag of a new measurement.
/// - A read does not continue with the next register.
/// - The lowest four bits of the die's number are its revision.
/// - The full scale across the shunt is only 82 mV.
enum INA226Register {
  /// Reset, averages, conversion times and mode, 7.1.1.
  static let configuration: UInt8 = 0x00
  /// Shunt voltage, signed, 7.1.2.
  static let shuntVoltage: UInt8 = 0x01
  /// Bus voltage, 7.1.3.
  static let busVoltage: UInt8 = 0x02
  /// The function of the alert pin, and flags, 7.1.7.
  static let maskAndEnable: UInt8 = 0x06
  /// Manufacturer ID, 7.1.9.
  static let manufacturer: UInt8 = 0xFE
  /// Die ID, 7.1.10.
  static let die: UInt8 = 0xFF
  /// The register in which the INA228 and its relatives have the value that the INA226 has at 0xFE.
  static let laterManufacturer: UInt8 = 0x3E

  /// The manufacturer's identity, `TI`.
  static let texasInstruments: UInt16 = 0x5449
  static let dieNumber: UInt16 = 0x2260
  static let dieRevision: UInt16 = 0x000F

  static let reset: UInt16 = 0x8000
  /// Continuous measurement of shunt and bus, with the shortest conversions of the bus. Add the averages and the
  /// shunt's conversion time.
  static let continuous: UInt16 = 0x4007
  /// The value after a reset, except for the mode: powered down.
  static let poweredDown: UInt16 = 0x4120
  /// The alert is latched. The driver uses no alert, so this bit has no effect. It distinguishes a configured chip
  /// from a chip after a reset and from a hung bus.
  static let alertLatch: UInt16 = 0x0001
  static let isReady: UInt16 = 0x0008

  static let voltsPerUnit = 0.001_25
  static let shuntVoltsPerUnit = 0.000_002_5
  /// The full scale across the shunt, in units.
  static let shuntLimit: UInt16 = 32767
}
