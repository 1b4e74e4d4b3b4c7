import HardwareIO
import MonotonicTime

/// Driver of the QMC5883L, a magnetometer.
final class QMC5883LDriver: PolledDriver {
  private static let microteslaPerUnit = 100 / QMC5883LRegister.unitsPerGauss

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: QMC5883LRate

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 6)
    rate = QMC5883LRate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    // The identity is not reliable before this read.
    _ = try registers.read(QMC5883LRegister.output, count: 6)
    let chip = MagnetometerChip.qmc5883l
    try chip.identity.require(chip.title, of: registers)
    try registers.write(QMC5883LRegister.reset, to: QMC5883LRegister.control2)
    connection.pause(.milliseconds(10))
    try registers.write(QMC5883LRegister.recommendedPeriod, to: QMC5883LRegister.setResetPeriod)
    try registers.write(
      QMC5883LRegister.oversampling512 | QMC5883LRegister.fullScale8Gauss | rate.bits | QMC5883LRegister.continuous,
      to: QMC5883LRegister.control1)
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    let status = try registers.read(QMC5883LRegister.status)
    guard status & QMC5883LRegister.isNew != 0, status & QMC5883LRegister.isOverflow == 0 else { return nil }
    let bytes = try registers.read(QMC5883LRegister.output, count: 6)
    let units = SIMD3(bytes.littleEndian(at: 0), bytes.littleEndian(at: 2), bytes.littleEndian(at: 4))
    guard units.isWithinScale else { return nil }
    return MagnetometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz), field: SIMD3<Float>(units) * QMC5883LDriver.microteslaPerUnit)
  }

  func stop() { try? registers.write(QMC5883LRegister.standby, to: QMC5883LRegister.control1) }
}

/// A rate that the QMC5883L supports, with the register value for it.
struct QMC5883LRate {
  private static let all: [Double] = [10, 50, 100, 200]

  let hertz: Double
  /// The bits for control register 1.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = QMC5883LRate.all.slowestRate(for: requested)
    hertz = QMC5883LRate.all[index]
    bits = UInt8(index) << 2
  }
}
