/// Registers of the HMC5883L, by the names and tables of its data sheet (Honeywell 900405, revision E).
///
/// Pitfalls:
///
/// - The axes come as x, z, y.
/// - The flag "ready" stays set after a read, so it does not mark a new measurement.
/// - A read of only some of the six bytes prevents the next measurement from being stored.
/// - The first measurement after a change of the gain is made with the previous gain.
/// - There is no reset.
enum HMC5883LRegister {
  /// Averaging, rate and bias, tables 3 to 6.
  static let configurationA: UInt8 = 0x00
  /// Gain, tables 7 to 9.
  static let configurationB: UInt8 = 0x01
  /// Continuous, single or idle, from table 10 on.
  static let mode: UInt8 = 0x02
  /// x, z and y in this order, high byte first, tables 13 to 15.
  static let output: UInt8 = 0x03
  /// The first of three identification registers.
  static let identificationA: UInt8 = 0x0A

  /// The identity "H43".
  static let identity: [UInt8] = [0x48, 0x34, 0x33]

  // Configuration A: the average of this number of measurements
  static let meanOf8: UInt8 = 0x60
  static let meanOf4: UInt8 = 0x40
  static let meanOf2: UInt8 = 0x20
  /// The gain for fields up to 1.3 gauss: 1090 units per gauss.
  static let gain1090: UInt8 = 0x20
  static let unitsPerGauss: Float = 1090
  static let continuous: UInt8 = 0x00
  static let single: UInt8 = 0x01
  static let idle: UInt8 = 0x02
  /// The range of a measurement, table 9; -4096 stands for an overflow.
  static let units: ClosedRange<Int16> = -2048...2047
}
