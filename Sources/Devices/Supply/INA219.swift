import HardwareIO
import MonotonicTime

/// Registers of the INA219, of 16 bits, high byte first, by the names and sections of its data sheet (SBOS448G).
///
/// Pitfalls:
///
/// - The chip has no identity register.
/// - The flag of a new measurement is in the bus voltage's register. Reading the power clears it.
/// - A read does not continue with the next register.
/// - The chip measures shunt and bus one after the other. While it measures one, it does not observe the other.
/// - The lowest rate is 15 measurements a second.
enum INA219Register {
  /// Reset, ranges, averages and mode, 8.6.2.1.
  static let configuration: UInt8 = 0x00
  /// Shunt voltage, signed, 8.6.3.1.
  static let shuntVoltage: UInt8 = 0x01
  /// Bus voltage in bits 3 to 15, and flags below, 8.6.3.2.
  static let busVoltage: UInt8 = 0x02
  /// Power, 8.6.3.3. Reading it clears the flag of a new measurement.
  static let power: UInt8 = 0x03
  /// Current, signed, 8.6.3.4.
  static let current: UInt8 = 0x04
  /// Calibration, 8.6.4.1. Without it, current and power are 0.
  static let calibration: UInt8 = 0x05

  static let reset: UInt16 = 0x8000
  /// The configuration bits that always read as 0: reset, and an unused one.
  static let configurationZeros: UInt16 = 0xC000
  /// The bus range of 32 V instead of 16.
  static let wideBus: UInt16 = 0x2000
  /// The shunt's full scale: 40 mV, doubled up to three times.
  static let gain: UInt16 = 0x1800
  /// Continuous measurement with ranges of 32 V and 320 mV, and one 12-bit measurement of the bus. The bits 6:3
  /// for the number of averaged shunt measurements are 0; the driver adds them.
  static let continuous: UInt16 = 0x3987
  /// The value after a reset, except for the mode: powered down.
  static let poweredDown: UInt16 = 0x3998

  static let isReady: UInt16 = 0x0002
  /// The bits of the bus voltage's register that must be 0: the overflow of the calculated values, which the driver
  /// does not use, and an unused bit.
  static let busZeros: UInt16 = 0x0005
  static let voltsPerUnit = 0.004
  static let shuntVoltsPerUnit = 0.000_01
  /// The full scales of the bus range of 16 V, and of the shunt ranges of 40 mV and 320 mV, in the units above.
  static let busLimit: UInt16 = 4000
  static let shuntLimit = 4000
  static let widestShuntLimit: UInt16 = 32000
}

/// Driver of the INA219, a monitor of a supply's voltage and current.
final class INA219Driver: PolledDriver {
  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: INA219Rate

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 2)
    rate = INA219Rate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    let chip = SupplyMonitorChip.ina219
    try chip.identity.require(chip.title, of: registers)
    try registers.writeWord(INA219Register.reset, to: INA219Register.configuration)
    connection.pause(.milliseconds(1))
    try registers.writeWord(rate.bits, to: INA219Register.configuration)
    // Reading the power discards a completed measurement. A new mode discards it as well, but the data sheet does not
    // say whether writing the same mode again does.
    _ = try registers.readWord(INA219Register.power)
  }

  func read() throws(HardwareError) -> SupplySample? {
    let marks = INA219Register.isReady | INA219Register.busZeros
    guard try registers.readWord(INA219Register.busVoltage) & marks == INA219Register.isReady else { return nil }
    var (bus, shunt) = try measurement()
    // If the flag is set, the chip completed its next measurement during the read. Read again, so that all values
    // belong to one measurement.
    if bus & marks == INA219Register.isReady { (bus, shunt) = try measurement() }
    // A hung bus, or a chip that was reset, does not return this configuration.
    guard bus & marks == 0, shunt.magnitude < INA219Register.widestShuntLimit,
      try registers.readWord(INA219Register.configuration) == rate.bits
    else { return nil }
    return SupplySample(
      goodAt: connection.measuredAt(rateHz: rate.hertz), volts: Double(bus >> 3) * INA219Register.voltsPerUnit,
      shuntVolts: Double(shunt) * INA219Register.shuntVoltsPerUnit)
  }

  func stop() { try? registers.writeWord(INA219Register.poweredDown, to: INA219Register.configuration) }

  /// Clears the flag of a new measurement, and then reads the measurement.
  ///
  /// - Returns: the values; the flags in `bus` show whether the next measurement was completed during the read
  private func measurement() throws(HardwareError) -> (bus: UInt16, shunt: Int16) {
    _ = try registers.readWord(INA219Register.power)
    let shunt = Int16(bitPattern: try registers.readWord(INA219Register.shuntVoltage))
    return (try registers.readWord(INA219Register.busVoltage), shunt)
  }
}

/// A rate that the INA219 supports. The chip averages the shunt voltage over the whole interval, except for half a
/// millisecond in which it measures the bus voltage once.
///
/// The voltage of a supply hardly changes, but its current does. Time that the average of the shunt does not cover
/// would be missing from the energy.
struct INA219Rate {
  /// The times for 128, 64 and 32 averages in table 5.
  private static let all: [(shuntMilliseconds: Double, bits: UInt16)] = [(68.10, 15), (34.05, 14), (17.02, 13)]
  private static let busMilliseconds = 0.532

  let hertz: Double
  /// The value of the configuration register for this rate.
  let bits: UInt16

  init(nearest requested: Double) {
    let rates = INA219Rate.all.map { 1000 / ($0.shuntMilliseconds + INA219Rate.busMilliseconds) }
    let index = rates.slowestRate(for: requested)
    hertz = rates[index]
    bits = INA219Register.continuous | INA219Rate.all[index].bits << 3
  }
}

/// Recognises an INA219, which has no identity register, by relations between its registers.
enum INA219Identity {
  /// The number of attempts before a mismatch counts. The chip may complete a measurement between two reads.
  private static let tries = 8

  /// Whether the registers fit an INA219. The check writes nothing, and accepts any configuration that another program
  /// may have left.
  static func isTold(by registers: I2CRegisters) throws(HardwareError) -> Bool {
    let configuration = try registers.readWord(INA219Register.configuration)
    guard configuration != 0, configuration & INA219Register.configurationZeros == 0 else { return false }
    let bus = try registers.readWord(INA219Register.busVoltage)
    let busLimit = INA219Register.busLimit * (configuration & INA219Register.wideBus == 0 ? 1 : 2)
    guard bus & INA219Register.busZeros == 0, bus >> 3 <= busLimit else { return false }
    let calibration = try registers.readWord(INA219Register.calibration)
    guard calibration & 0x0001 == 0 else { return false }
    let shuntLimit = INA219Register.shuntLimit << Int((configuration & INA219Register.gain) >> 11)
    guard try currentFits(calibration, shuntLimit, registers) else { return false }
    // The power is read last, because reading it clears the flag of a new measurement.
    if calibration == 0 { guard try registers.readWord(INA219Register.power) == 0 else { return false } }
    return try !isOfTheLaterOnes(registers)
  }

  /// Whether the current is the product of the calibration and the shunt voltage (equation 4). Without a calibration,
  /// the current is 0.
  private static func currentFits(
    _ calibration: UInt16, _ shuntLimit: Int, _ registers: I2CRegisters
  ) throws(HardwareError) -> Bool {
    for _ in 0..<tries {
      let shunt = Int(Int16(bitPattern: try registers.readWord(INA219Register.shuntVoltage)))
      guard abs(shunt) <= shuntLimit else { return false }
      let current = Int(Int16(bitPattern: try registers.readWord(INA219Register.current)))
      // The tolerance covers the remainder of the division and the noise between two measurements.
      if abs(4096 * current - shunt * Int(calibration)) < 4096 + 8 * Int(calibration) { return true }
    }
    return false
  }

  /// Whether the chip has the manufacturer's identity register, like the INA226, the INA228, their relatives and some
  /// thermometers.
  private static func isOfTheLaterOnes(_ registers: I2CRegisters) throws(HardwareError) -> Bool {
    for register in [INA226Register.manufacturer, INA226Register.laterManufacturer] {
      if try registers.readWord(register) == INA226Register.texasInstruments { return true }
    }
    return false
  }
}

extension SupplyMonitorChip {
  static var ina219: SupplyMonitorChip {
    SupplyMonitorChip(
      name: "ina219", title: "INA219", addresses: supplyMonitorAddresses,
      identity: ChipIdentity(register: INA219Register.configuration, toldBy: "consistent values of its registers") {
        (registers) throws(HardwareError) in
        try INA219Identity.isTold(by: registers)
      },
      provenAgainst: "Linux (ina2xx-adc)",
      // The chip's clock may be 10 % faster than stated. Polling twice per sample reads each measurement before the
      // next one replaces it.
      looksPerSample: 2,
      // The currents are from section 7.5: typical, and powered down.
      milliamperes: 0.7, sleepMilliamperes: 0.006, ratesHz: 0.5...57,
      actualRate: { INA219Rate(nearest: $0).hertz },
      makeDriver: { INA219Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.writeWord(INA219Register.poweredDown, to: INA219Register.configuration)
      })
  }
}
