/// A chip as those see it who look for chips and do not drive them. From the makers' data sheets.
public struct CatalogueEntry: Sendable {
  /// The measured quantity and the name in a board file, for the chips that the hub can read.
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
