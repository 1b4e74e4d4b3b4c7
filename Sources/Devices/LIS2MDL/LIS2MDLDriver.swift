import HardwareIO
import MonotonicTime

/// Driver of the LIS2MDL and the IIS2MDC, which are magnetometers.
final class LIS2MDLDriver: PolledDriver {
  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: LIS2MDLRate

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 6)
    rate = LIS2MDLRate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    let chip = MagnetometerChip.lis2mdl
    try chip.identity.require(chip.title, of: registers)
    try registers.write(LIS2MDLRegister.reset, to: LIS2MDLRegister.configurationA)
    connection.pause(.milliseconds(5))
    try registers.write(LIS2MDLRegister.offsetCancellation, to: LIS2MDLRegister.configurationB)
    try registers.write(LIS2MDLRegister.blockUpdate, to: LIS2MDLRegister.configurationC)
    try registers.write(
      LIS2MDLRegister.temperatureCompensation | rate.bits | LIS2MDLRegister.continuous,
      to: LIS2MDLRegister.configurationA)
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    guard try registers.read(LIS2MDLRegister.status) & LIS2MDLRegister.allAxesAreNew != 0 else { return nil }
    let bytes = try registers.read(LIS2MDLRegister.output, count: 6)
    let units = SIMD3(bytes.littleEndian(at: 0), bytes.littleEndian(at: 2), bytes.littleEndian(at: 4))
    guard units.isWithinScale else { return nil }
    // The chip's axes are left-handed. Keep x and y, which boards have printed on them, and reverse z.
    let axes = SIMD3(Float(units.x), Float(units.y), -Float(units.z))
    return MagnetometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz), field: axes * LIS2MDLRegister.microteslaPerUnit)
  }

  func stop() { try? registers.write(LIS2MDLRegister.idle, to: LIS2MDLRegister.configurationA) }
}

/// A rate that the LIS2MDL supports, with the register value for it.
struct LIS2MDLRate {
  private static let all: [Double] = [10, 20, 50, 100]

  let hertz: Double
  /// The bits for configuration register A.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = LIS2MDLRate.all.slowestRate(for: requested)
    hertz = LIS2MDLRate.all[index]
    bits = UInt8(index) << 2
  }
}
