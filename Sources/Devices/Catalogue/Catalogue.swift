extension CatalogueEntry {
  /// The chips that the hub can read, grouped by kind. Within a kind, the commonest chip comes first.
  public static let all: [CatalogueEntry] =
    entries(InertialChip.all, .imu) + entries(MagnetometerChip.all, .magnetometer)
    + entries(BarometerChip.all, .barometer) + entries(SupplyMonitorChip.all, .supplyMonitor)

  private static func entries<Driver, Configuration>(
    _ chips: [Chip<Driver, Configuration>], _ kind: ChipKind
  ) -> [CatalogueEntry] { chips.map { CatalogueEntry(kind, $0) } }

  /// The chips that the hub recognises, but cannot read yet.
  static let unread = [
    CatalogueEntry("BMI270", at: [0x68, 0x69], 0x00, is: [0x24])
  ]
}
