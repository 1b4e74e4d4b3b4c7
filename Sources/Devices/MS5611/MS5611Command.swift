/// Commands of the MS5611, by the names of its data sheet. The chip has no registers.
///
/// Pitfalls:
///
/// - Reading a result before the conversion is over returns 0, and makes the later result 0 as well.
/// - A result can be read only once.
/// - Raw values have no meaning without the coefficients in the chip's PROM. A raw pressure also needs a temperature
///   of the same minute, because an error of a tenth of a degree changes the pressure by 20 Pa.
/// - An MS5607 looks the same on the bus, but the same raw values mean other pressures.
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
