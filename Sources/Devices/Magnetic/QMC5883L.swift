import HardwareIO
import MonotonicTime

/// Registers of the QMC5883L, by the names of its data sheet (QST, revision 1.0, chapter 9).
///
/// Pitfalls:
///
/// - The chip is sold as an HMC5883L, but has a different address, different registers and a different order of axes.
/// - The identity is a byte that an idle bus returns as well, so it is reliable only after another read.
/// - A read of only some of the six bytes prevents the next measurement from being stored.
/// - Without the set/reset period the chip's offset drifts.
enum QMC5883LRegister {
  /// x, y and z in order, low byte first, 00H to 05H.
  static let output: UInt8 = 0x00
  /// The flags of a new measurement and of an overflow, 06H.
  static let status: UInt8 = 0x06
  /// Oversampling, range, rate and mode, 09H.
  static let control1: UInt8 = 0x09
  /// Reset, 0AH.
  static let control2: UInt8 = 0x0A
  /// The period of the sensor's set/reset pulses, 0BH.
  static let setResetPeriod: UInt8 = 0x0B
  /// Chip ID, 0DH.
  static let chipID: UInt8 = 0x0D

  static let identity: UInt8 = 0xFF

  static let reset: UInt8 = 0x80
  /// The value that the data sheet recommends.
  static let recommendedPeriod: UInt8 = 0x01
  /// The average of 512 samples, which has the least noise.
  static let oversampling512: UInt8 = 0x00
  /// The full scale of 8 gauss, with 3000 units per gauss.
  static let fullScale8Gauss: UInt8 = 0x10
  static let unitsPerGauss: Float = 3000
  static let continuous: UInt8 = 0x01
  static let standby: UInt8 = 0x00
  // Status
  static let isNew: UInt8 = 0x01
  static let isOverflow: UInt8 = 0x02
}

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

extension MagnetometerChip {
  static var qmc5883l: MagnetometerChip {
    MagnetometerChip(
      name: "qmc5883l", title: "QMC5883L", addresses: [0x0D],
      identity: ChipIdentity(register: QMC5883LRegister.chipID, values: [QMC5883LRegister.identity]),
      provenAgainst: "PX4, ArduPilot",
      // 0.15 mA is roughly the current at 50 Hz. 0.003 mA is the standby current.
      milliamperes: 0.15, sleepMilliamperes: 0.003, ratesHz: 10...200,
      actualRate: { QMC5883LRate(nearest: $0).hertz },
      makeDriver: { QMC5883LDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(QMC5883LRegister.standby, to: QMC5883LRegister.control1)
      })
  }
}
