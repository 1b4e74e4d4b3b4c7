/// What a chip measures.
public enum ChipKind: String, CaseIterable, Sendable {
  /// Angular rate and specific force.
  case imu
  case magnetometer
  case barometer
}

/// A chip as those see it who look for chips and do not drive them. From the makers' data sheets.
public struct CatalogueEntry: Sendable {
  /// What it measures and what a board file calls it, for the chips that the hub can read.
  public var driver: (kind: ChipKind, name: String)?
  /// For people.
  public var title: String
  public var addresses: [UInt8]
  public var identity: ChipIdentity
  /// Whose driver has read the same of its twin, or uses it in the same way.
  public var provenAgainst = ""
  /// 0 for none.
  public var fifoSampleCount = 0
  public var ratesHz = 0.0...0.0
  public var milliamperes = 0.0
  public var sleepMilliamperes = 0.0

  private init<Driver, Configuration>(_ kind: ChipKind, _ chip: Chip<Driver, Configuration>) {
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

  private init(_ title: String, at addresses: [UInt8], _ register: UInt8, is values: [UInt8]) {
    self.title = title
    self.addresses = addresses
    identity = ChipIdentity(register: register, values: values)
  }
}

extension CatalogueEntry {
  /// The chips that the hub can read, kind by kind, the commonest of each first.
  public static let all =
    InertialChip.all.map { CatalogueEntry(.imu, $0) } + MagnetometerChip.all.map { CatalogueEntry(.magnetometer, $0) }
    + BarometerChip.all.map { CatalogueEntry(.barometer, $0) }

  /// Chips that can be told, and that the hub cannot read yet.
  static let unread = [
    CatalogueEntry("BMI270", at: [0x68, 0x69], 0x00, is: [0x24]),
    CatalogueEntry("BNO055", at: [0x28, 0x29], 0x00, is: [0xA0]),
  ]
}
