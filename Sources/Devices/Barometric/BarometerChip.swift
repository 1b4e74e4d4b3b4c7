public typealias BarometerChip = Chip<any PolledDriver<BarometerSample>, PolledConfiguration>

extension BarometerChip {
  /// The commonest first.
  public static var all: [BarometerChip] { [.bmp280, .bme280] }
}
