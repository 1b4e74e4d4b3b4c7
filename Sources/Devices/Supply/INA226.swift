import HardwareIO
import MonotonicTime

/// Registers of the INA226, of 16 bits, high byte first, by the names and sections of its data sheet (SBOS547B).
///
/// Pitfalls:
///
/// - Reading mask and enable clears the flag of a new measurement.
/// - A read does not continue with the next register.
/// - The lowest four bits of the die's number are its revision.
/// - The full scale across the shunt is only 82 mV.
enum INA226Register {
  /// Reset, averages, conversion times and mode, 7.1.1.
  static let configuration: UInt8 = 0x00
  /// Shunt voltage, signed, 7.1.2.
  static let shuntVoltage: UInt8 = 0x01
  /// Bus voltage, 7.1.3.
  static let busVoltage: UInt8 = 0x02
  /// The function of the alert pin, and flags, 7.1.7.
  static let maskAndEnable: UInt8 = 0x06
  /// Manufacturer ID, 7.1.9.
  static let manufacturer: UInt8 = 0xFE
  /// Die ID, 7.1.10.
  static let die: UInt8 = 0xFF
  /// The register in which the INA228 and its relatives have the value that the INA226 has at 0xFE.
  static let laterManufacturer: UInt8 = 0x3E

  /// The manufacturer's identity, `TI`.
  static let texasInstruments: UInt16 = 0x5449
  static let dieNumber: UInt16 = 0x2260
  static let dieRevision: UInt16 = 0x000F

  static let reset: UInt16 = 0x8000
  /// Continuous measurement of shunt and bus, with the shortest conversions of the bus. Add the averages and the
  /// shunt's conversion time.
  static let continuous: UInt16 = 0x4007
  /// The value after a reset, except for the mode: powered down.
  static let poweredDown: UInt16 = 0x4120
  /// The alert is latched. The driver uses no alert, so this bit has no effect. It distinguishes a configured chip
  /// from a chip after a reset and from a hung bus.
  static let alertLatch: UInt16 = 0x0001
  static let isReady: UInt16 = 0x0008

  static let voltsPerUnit = 0.001_25
  static let shuntVoltsPerUnit = 0.000_002_5
  /// The full scale across the shunt, in units.
  static let shuntLimit: UInt16 = 32767
}

/// Driver of the INA226, a monitor of a supply's voltage and current.
final class INA226Driver: PolledDriver {
  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: INA226Rate

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 2)
    rate = INA226Rate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    let chip = SupplyMonitorChip.ina226
    try chip.identity.require(chip.title, of: registers)
    try registers.writeWord(INA226Register.reset, to: INA226Register.configuration)
    connection.pause(.milliseconds(1))
    try registers.writeWord(INA226Register.alertLatch, to: INA226Register.maskAndEnable)
    // This starts a new measurement, and discards any completed one.
    try registers.writeWord(rate.bits, to: INA226Register.configuration)
  }

  func read() throws(HardwareError) -> SupplySample? {
    let ready = INA226Register.alertLatch | INA226Register.isReady
    guard try registers.readWord(INA226Register.maskAndEnable) == ready else { return nil }
    var (bus, shunt, marks) = try measurement()
    // If the flag is set, the chip completed its next measurement during the read. Read again, so that all values
    // belong to one measurement.
    if marks == ready { (bus, shunt, marks) = try measurement() }
    guard marks == INA226Register.alertLatch, shunt.magnitude < INA226Register.shuntLimit else { return nil }
    return SupplySample(
      goodAt: connection.measuredAt(rateHz: rate.hertz), volts: Double(bus) * INA226Register.voltsPerUnit,
      shuntVolts: Double(shunt) * INA226Register.shuntVoltsPerUnit)
  }

  func stop() { try? registers.writeWord(INA226Register.poweredDown, to: INA226Register.configuration) }

  /// The measured values, and the flags that were set during the read.
  private func measurement() throws(HardwareError) -> (bus: UInt16, shunt: Int16, marks: UInt16) {
    let shunt = Int16(bitPattern: try registers.readWord(INA226Register.shuntVoltage))
    let bus = try registers.readWord(INA226Register.busVoltage)
    return (bus, shunt, try registers.readWord(INA226Register.maskAndEnable))
  }
}

/// A rate of the INA226. The chip measures shunt and bus in turn, and averages both. The energy is computed from the
/// shunt's average, so the shunt's conversions are long and cover nearly all of the interval. The bus's conversions
/// are as short as possible.
struct INA226Rate {
  /// The numbers of averages and the conversion times of tables 7-3 and 7-5, with their bits in the configuration.
  private static let all: [(averages: Double, shuntMilliseconds: Double, bits: UInt16)] = [
    (256, 8.244, 5 << 9 | 7 << 3), (128, 8.244, 4 << 9 | 7 << 3), (64, 8.244, 3 << 9 | 7 << 3),
    (64, 4.156, 3 << 9 | 6 << 3), (16, 8.244, 2 << 9 | 7 << 3), (16, 4.156, 2 << 9 | 6 << 3),
    (4, 8.244, 1 << 9 | 7 << 3), (4, 4.156, 1 << 9 | 6 << 3),
  ]
  private static let busMilliseconds = 0.140

  let hertz: Double
  /// The bits of the configuration.
  let bits: UInt16

  init(nearest requested: Double) {
    let rates = INA226Rate.all.map { 1000 / ($0.averages * ($0.shuntMilliseconds + INA226Rate.busMilliseconds)) }
    let index = rates.slowestRate(for: requested)
    hertz = rates[index]
    bits = INA226Register.continuous | INA226Rate.all[index].bits
  }
}

extension SupplyMonitorChip {
  static var ina226: SupplyMonitorChip {
    SupplyMonitorChip(
      name: "ina226", title: "INA226", addresses: supplyMonitorAddresses,
      // The identity has two registers, and a read does not continue from one to the other.
      identity: ChipIdentity(register: INA226Register.manufacturer, toldBy: "its manufacturer and die numbers") {
        (registers) throws(HardwareError) in
        guard try registers.readWord(INA226Register.manufacturer) == INA226Register.texasInstruments else {
          return false
        }
        return try registers.readWord(INA226Register.die) & ~INA226Register.dieRevision == INA226Register.dieNumber
      },
      provenAgainst: "Linux (ina2xx-adc)",
      // The chip's clock may be 10 % faster than stated. Polling twice per sample reads each measurement before the
      // next one replaces it.
      looksPerSample: 2,
      // The currents are from section 5.5: typical, and powered down.
      milliamperes: 0.33, sleepMilliamperes: 0.0005, ratesHz: 0.4...58,
      actualRate: { INA226Rate(nearest: $0).hertz },
      makeDriver: { INA226Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.writeWord(INA226Register.poweredDown, to: INA226Register.configuration)
      })
  }
}
