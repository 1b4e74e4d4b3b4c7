public typealias SupplyMonitorChip = Chip<any PolledDriver<SupplySample>, PolledConfiguration>

extension SupplyMonitorChip {
  /// The commonest comes first, which has no identity register: it refuses chips that have one.
  public static var all: [SupplyMonitorChip] { [.ina219, .ina226] }

  /// Four bits by two pins.
  static var supplyMonitorAddresses: [UInt8] { Array(0x40...0x4F) }
}
