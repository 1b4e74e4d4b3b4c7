import HardwareIO

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
  /// A clause that follows the title of a chip that the hub cannot read: the reason, or the next step.
  public var note = "which the hub cannot read yet"

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
    self.init(title, at: addresses, ChipIdentity(register: register, values: values))
  }

  init(_ title: String, at addresses: [UInt8], _ identity: ChipIdentity) {
    self.title = title
    self.addresses = addresses
    self.identity = identity
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
    clock, CatalogueEntry("BMI270", at: [0x68, 0x69], 0x00, is: [0x24]),
    CatalogueEntry("accelerometer of an LSM303DLHC, or a LIS3DH", at: [0x19, 0x18], 0x0F, is: [0x33]),
  ]

  /// A real-time clock, the most frequent neighbour of an IMU at this address. Its seconds are in the register that
  /// holds a BMI270's identity, so at 24 seconds of each minute it looks like one.
  private static let clock: CatalogueEntry = {
    var clock = CatalogueEntry(
      "real-time clock, such as a DS3231",
      at: [0x68],
      ChipIdentity(register: 0, toldBy: "its date") { registers throws(HardwareError) in
        let time = Array(try registers.read(0x00, count: 4))
        let date = Array(try registers.read(0x04, count: 3))
        return isClock(time + date)
      })
    clock.note = "which needs the kernel's driver: dtoverlay=i2c-rtc,ds3231 in config.txt"
    return clock
  }()

  /// Whether these are a date and a time in the registers that the DS1307 and its successors have: seconds, minutes,
  /// hours, day of the week, day, month and year, as decimal digits.
  private static func isClock(_ registers: [UInt8]) -> Bool {
    let isInHalfDays = registers[2] & 0x40 != 0
    let numbers = [
      (registers[0] & 0x7F, 0...59), (registers[1], 0...59),
      isInHalfDays ? (registers[2] & 0x9F, 1...12) : (registers[2], 0...23),
      (registers[3], 1...7), (registers[4], 1...31), (registers[5] & 0x7F, 1...12), (registers[6], 0...99),
    ]
    return numbers.allSatisfy { (digits, range) in
      digits & 0x0F < 10 && digits >> 4 < 10 && range.contains(Int(digits >> 4) * 10 + Int(digits & 0x0F))
    }
  }
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
