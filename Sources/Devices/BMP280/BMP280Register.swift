/// Registers of the BMP280 and BME280, by the names and sections of their data sheets (BST-BMP280-DS001, revision 1.26;
/// BST-BME280-DS002, revision 1.23).
///
/// Pitfalls:
///
/// - The numbers of a measurement mean nothing without the chip's own coefficients.
/// - The humidity's oversampling takes effect only when control is written after it.
/// - The chip may ignore a write to configuration while it measures in normal mode, so write configuration before
///   control.
enum BMP280Register {
  /// Coefficients of temperature and pressure, low byte first, 3.11.2.
  static let coefficients: UInt8 = 0x88
  /// Coefficients of humidity: the first is separate, and the other coefficients follow each other, BME280 4.2.2.
  static let firstHumidityCoefficient: UInt8 = 0xA1
  static let humidityCoefficients: UInt8 = 0xE1
  /// Identification, 4.3.1.
  static let chipID: UInt8 = 0xD0
  /// Reset, 4.3.2.
  static let reset: UInt8 = 0xE0
  /// Oversampling of humidity, BME280 5.4.3.
  static let humidityControl: UInt8 = 0xF2
  /// Status: whether the chip measures or copies its coefficients, 4.3.3.
  static let status: UInt8 = 0xF3
  /// Oversampling and mode, 4.3.4.
  static let control: UInt8 = 0xF4
  /// Standby time and filter, 4.3.5.
  static let configuration: UInt8 = 0xF5
  /// Pressure and temperature, 20 bits each, then humidity, 16 bits, high byte first, 4.3.6.
  static let data: UInt8 = 0xF7

  static let bmp280: UInt8 = 0x58
  static let bme280: UInt8 = 0x60
  static let resetCommand: UInt8 = 0xB6
  static let isCopying: UInt8 = 0x01
  /// Normal mode with pressure 4 times and temperature twice: a measurement takes at most 16 ms.
  static let normalMode: UInt8 = 0x4F
  static let sleepMode: UInt8 = 0x4C
  /// One measurement of the humidity, which takes 2 ms more.
  static let humidityOnce: UInt8 = 0x01
  /// The value of a register before the first measurement, 20 bits.
  static let nothing = 0x80000
}
