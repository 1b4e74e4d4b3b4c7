import HardwareIO
import MonotonicTime

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
