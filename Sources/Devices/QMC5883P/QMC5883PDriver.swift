import HardwareIO
import MonotonicTime

/// Driver of the QMC5883P, a magnetometer.
final class QMC5883PDriver: PolledDriver {
  private static let microteslaPerUnit = 100 / QMC5883PRegister.unitsPerGauss

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: QMC5883PRate

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 6)
    rate = QMC5883PRate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    let chip = MagnetometerChip.qmc5883p
    try chip.identity.require(chip.title, of: registers)
    try registers.write(QMC5883PRegister.reset, to: QMC5883PRegister.control2)
    connection.pause(.milliseconds(10))
    try registers.write(QMC5883PRegister.usualSigns, to: QMC5883PRegister.signs)
    try registers.write(QMC5883PRegister.fullScale8Gauss, to: QMC5883PRegister.control2)
    try registers.write(
      QMC5883PRegister.oversampling8 | rate.bits | QMC5883PRegister.normal, to: QMC5883PRegister.control1)
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    let status = try registers.read(QMC5883PRegister.status)
    guard status & QMC5883PRegister.isNew != 0, status & QMC5883PRegister.isOverflow == 0 else { return nil }
    let bytes = try registers.read(QMC5883PRegister.output, count: 6)
    let units = SIMD3(bytes.littleEndian(at: 0), bytes.littleEndian(at: 2), bytes.littleEndian(at: 4))
    guard units.isWithinScale else { return nil }
    return MagnetometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz), field: SIMD3<Float>(units) * QMC5883PDriver.microteslaPerUnit)
  }

  func stop() { try? registers.write(QMC5883PRegister.suspended, to: QMC5883PRegister.control1) }
}

/// A rate that the QMC5883P supports, with the register value for it.
struct QMC5883PRate {
  private static let all: [Double] = [10, 50, 100, 200]

  let hertz: Double
  /// The bits for control register 1.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = QMC5883PRate.all.slowestRate(for: requested)
    hertz = QMC5883PRate.all[index]
    bits = UInt8(index) << 2
  }
}
