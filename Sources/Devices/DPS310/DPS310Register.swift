/// Registers of the DPS310, by the names of its data sheet.
///
/// Pitfalls:
///
/// - A raw value must be divided by a factor that depends on the oversampling. With 16 or more samples, the chip must
///   also shift the value, which is a separate setting.
/// - The coefficients belong to one of two temperature sensors. COEF_SRCE states which one.
/// - The coefficients are available only 40 ms after a reset.
/// - Some chips measure 60 degrees instead of 20 until they are corrected through registers that the data sheet does
///   not name.
enum DPS310Register {
  /// PSR_B2 and following: pressure and then temperature, 24 bits each, high byte first.
  static let data: UInt8 = 0x00
  /// PRS_CFG: rate and oversampling of the pressure.
  static let pressureConfiguration: UInt8 = 0x06
  /// TMP_CFG: the sensor, the rate and the oversampling of the temperature.
  static let temperatureConfiguration: UInt8 = 0x07
  /// MEAS_CFG: the flags of ready values, and the mode.
  static let measurement: UInt8 = 0x08
  /// CFG_REG: shifts, interrupts and FIFO.
  static let configuration: UInt8 = 0x09
  /// RESET.
  static let reset: UInt8 = 0x0C
  /// Product ID.
  static let productID: UInt8 = 0x0D
  /// COEF: 18 bytes.
  static let coefficients: UInt8 = 0x10
  /// COEF_SRCE: the temperature sensor that the coefficients belong to.
  static let coefficientSource: UInt8 = 0x28

  // Registers that the data sheet does not name: the correction of the temperature, and the keys that unlock it.
  static let unlock1: UInt8 = 0x0E
  static let unlock2: UInt8 = 0x0F
  static let mendedStatus: UInt8 = 0x32
  static let mend: UInt8 = 0x62

  static let identity: UInt8 = 0x10
  static let softReset: UInt8 = 0x09
  /// Sensor and coefficients are ready.
  static let isReady: UInt8 = 0xC0
  static let pressureIsNew: UInt8 = 0x10
  static let temperatureIsNew: UInt8 = 0x20
  static let idle: UInt8 = 0x00
  /// Pressure and temperature are measured continuously.
  static let background: UInt8 = 0x07
  /// The temperature sensor next to the pressure sensor, in both registers that select one.
  static let externalTemperature: UInt8 = 0x80
  static let pressureShift: UInt8 = 0x04
  static let isMended: UInt8 = 0x02
  static let unlock1Key: UInt8 = 0xA5
  static let unlock2Key: UInt8 = 0x96
  static let mendCommand: UInt8 = 0x02
  static let locked: UInt8 = 0x00
}
