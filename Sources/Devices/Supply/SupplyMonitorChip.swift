public typealias SupplyMonitorChip = Chip<any PolledDriver<SupplySample>, PolledConfiguration>

extension SupplyMonitorChip {
  /// The commonest first, which is the one that does not say what it is: it refuses what does.
  public static var all: [SupplyMonitorChip] { [.ina219, .ina226] }

  /// Four bits by two pins.
  static var supplyMonitorAddresses: [UInt8] { Array(0x40...0x4F) }
}
