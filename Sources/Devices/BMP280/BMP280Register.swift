/// Registers of the BMP280 and BME280, by the names and sections of their data sheets (BST-BMP280-DS001, revision 1.26;
/// BST-BME280-DS002, revision 1.23).
///
/// Pitfalls:
///
/// - Raw values have no meaning without the chip's own coefficients.
/// - The humidity's oversampling takes effect only when control is written after it.
/// - The chip may ignore a write to configuration while it measures in normal mode, so write configuration before
///   control.
enum BMP280Register {
  /// Coefficients of temperature and pressure, low byte first, 3.11.2.
  static let coefficients: UInt8 = 0x88
  /// Coefficients of humidity, BME280 4.2.2. The first one is at a separate address.
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
  /// Normal mode with 4 times oversampling of the pressure and 2 times oversampling of the temperature. A measurement
  /// takes at most 16 ms.
  static let normalMode: UInt8 = 0x4F
  static let sleepMode: UInt8 = 0x4C
  /// One sample of the humidity, which adds 2 ms to a measurement.
  static let humidityOnce: UInt8 = 0x01
  /// The raw pressure or temperature before the first measurement, 20 bits.
  static let nothing = 0x80000
}
