public typealias SupplyMonitorChip = Chip<any PolledDriver<SupplySample>, PolledConfiguration>

extension SupplyMonitorChip {
  /// All supply monitors, the commonest first. The INA219 has no identity register; its check refuses chips that have
  /// one.
  public static var all: [SupplyMonitorChip] { [.ina219, .ina226] }

  /// The possible addresses: two pins select four bits.
  static var supplyMonitorAddresses: [UInt8] { Array(0x40...0x4F) }
}
