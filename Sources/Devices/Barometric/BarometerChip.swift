public typealias BarometerChip = Chip<any PolledDriver<BarometerSample>, PolledConfiguration>

extension BarometerChip {
  /// The commonest first, and last what is told by little: a BMP390's clock may look like the DPS310's identity, and four bits
  /// are all that an MS5611 says.
  public static var all: [BarometerChip] { [.bmp280, .bme280, .bmp390, .bmp388, .dps310, .lps22hb, .ms5611] }
}
