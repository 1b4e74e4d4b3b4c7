/// Commands of the MS5611, by the names of its data sheet. The chip has no registers.
///
/// Pitfalls:
///
/// - Fetching a result before the conversion is over gives 0, and makes the conversion's result 0.
/// - A result can be fetched only once.
/// - The raw numbers mean nothing without the coefficients in the chip's PROM. They also need a temperature of the same
///   minute, because an error of a tenth of a degree changes the pressure by 20 Pa.
/// - An MS5607 looks the same, but its numbers stand for other pressures.
enum MS5611Command {
  /// Reset. The PROM can be read after 2.8 ms.
  static let reset: UInt8 = 0x1E
  /// ADC Read: the result of the conversion, 24 bits, high byte first.
  static let readResult: UInt8 = 0x00
  /// PROM Read: the first of eight words, high byte first; the following commands are 2 apart.
  static let readPROM: UInt8 = 0xA0
  /// Convert D1, with an oversampling of 4096: pressure.
  static let convertPressure: UInt8 = 0x48
  /// Convert D2, with an oversampling of 4096: temperature.
  static let convertTemperature: UInt8 = 0x58
}
