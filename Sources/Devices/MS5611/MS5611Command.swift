/// Commands of the MS5611, by the names of its data sheet: it has no registers.
///
/// Traps: a result that is fetched before the conversion is over is 0, and so is the conversion's; a result can be
/// fetched once; its numbers mean nothing without the coefficients of its PROM, and hardly anything without a
/// temperature of the same minute: a tenth of a degree is 20 Pa; an MS5607 looks just like it, but its numbers stand
/// for other pressures.
enum MS5611Command {
  /// Reset: 2.8 ms until the PROM can be read.
  static let reset: UInt8 = 0x1E
  /// ADC Read: the result of the conversion, 24 bits, high byte first.
  static let readResult: UInt8 = 0x00
  /// PROM Read: the first of eight words, high byte first; the next are 2 further each.
  static let readPROM: UInt8 = 0xA0
  /// Convert D1, with an oversampling of 4096: pressure.
  static let convertPressure: UInt8 = 0x48
  /// Convert D2, with an oversampling of 4096: temperature.
  static let convertTemperature: UInt8 = 0x58
}
