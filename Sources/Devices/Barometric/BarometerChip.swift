public typealias BarometerChip = Chip<any PolledDriver<BarometerSample>, PolledConfiguration>

extension BarometerChip {
  /// All barometers, the commonest first. Chips with a weak identity come last: the register with a BMP390's sensor
  /// time may look like the identity of a DPS310, and the identity of an MS5611 has only four bits.
  public static var all: [BarometerChip] { [.bmp280, .bme280, .bmp390, .bmp388, .dps310, .lps22hb, .ms5611] }
}
