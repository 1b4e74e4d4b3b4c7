/// The data of a chip for programs that look for chips without driving them. The data come from the manufacturers'
/// data sheets.
public struct CatalogueEntry: Sendable {
  /// The measured quantity and the name in a board file; `nil` if the hub cannot read the chip.
  public var driver: (kind: ChipKind, name: String)?
  /// The title to show, for example `MPU-6050`.
  public var title: String
  public var addresses: [UInt8]
  public var identity: ChipIdentity
  /// The software whose driver has read the same values from the simulated chip as the hub's driver, or which uses the
  /// chip in the same way.
  public var provenAgainst = ""
  /// The number of samples of the chip's FIFO that the driver uses; 0 if there is no FIFO.
  public var fifoSampleCount = 0
  /// The slowest and the fastest rate, samples per second.
  public var ratesHz = 0.0...0.0
  /// The supply current while the chip measures, mA.
  public var milliamperes = 0.0
  /// The supply current while the chip sleeps, mA.
  public var sleepMilliamperes = 0.0

  init<Driver, Configuration>(_ kind: ChipKind, _ chip: Chip<Driver, Configuration>) {
    driver = (kind, chip.name)
    title = chip.title
    addresses = chip.addresses
    identity = chip.identity
    provenAgainst = chip.provenAgainst
    fifoSampleCount = chip.fifoSampleCount
    ratesHz = chip.ratesHz
    milliamperes = chip.milliamperes
    sleepMilliamperes = chip.sleepMilliamperes
  }

  init(_ title: String, at addresses: [UInt8], _ register: UInt8, is values: [UInt8]) {
    self.title = title
    self.addresses = addresses
    identity = ChipIdentity(register: register, values: values)
  }
}

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

/// The quantity that a chip measures.
public enum ChipKind: String, CaseIterable, Sendable {
  /// Angular rate and specific force.
  case imu
  case magnetometer
  case barometer
  /// Voltage and current.
  case supplyMonitor
}
