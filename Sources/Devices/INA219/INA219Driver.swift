import HardwareIO
import MonotonicTime

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
  /// The bits of the configuration.
  let bits: UInt16

  init(nearest requested: Double) {
    let rates = INA219Rate.all.map { 1000 / ($0.shuntMilliseconds + INA219Rate.busMilliseconds) }
    let index = rates.slowestRate(for: requested)
    hertz = rates[index]
    bits = INA219Register.continuous | INA219Rate.all[index].bits << 3
  }
}
