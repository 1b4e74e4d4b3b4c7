public typealias BarometerChip = Chip<any PolledDriver<BarometerSample>, PolledConfiguration>

extension BarometerChip {
  /// All barometers, the commonest first. Those with a weak identity come last: a BMP390's clock may look like the
  /// DPS310's identity, and an MS5611 has only four bits of identity.
  public static var all: [BarometerChip] { [.bmp280, .bme280, .bmp390, .bmp388, .dps310, .lps22hb, .ms5611] }
}
