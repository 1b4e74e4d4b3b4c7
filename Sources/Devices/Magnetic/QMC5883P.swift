import HardwareIO
import MonotonicTime

/// Registers of the QMC5883P, by the tables of its data sheet (QST 13-52-19).
///
/// Pitfalls:
///
/// - The registers differ from those of the QMC5883L, although the QMC5883P replaces it on the same boards.
/// - In the mode called continuous the chip measures as fast as it can. Only the normal mode observes the rate.
/// - The signs of the axes are set in a register that is missing in the table of registers but present in all examples.
/// - Reading the status clears the flag of a new measurement.
enum QMC5883PRegister {
  /// Chip ID, table 15.
  static let chipID: UInt8 = 0x00
  /// x, y and z in order, low byte first, table 15.
  static let output: UInt8 = 0x01
  /// The flags of a new measurement and of an overflow, table 16.
  static let status: UInt8 = 0x09
  /// Oversampling, rate and mode, table 17.
  static let control1: UInt8 = 0x0A
  /// Reset, range, and whether set/reset is on, table 18.
  static let control2: UInt8 = 0x0B
  /// The signs of the axes, examples 7.1 to 7.3.
  static let signs: UInt8 = 0x29

  static let identity: UInt8 = 0x80

  static let reset: UInt8 = 0x80
  /// The value in all examples.
  static let usualSigns: UInt8 = 0x06
  /// The full scale of 8 gauss, with 3750 units per gauss, and set/reset on.
  static let fullScale8Gauss: UInt8 = 0x08
  static let unitsPerGauss: Float = 3750
  /// The average of 8 samples, without a filter after it, which would delay the measurement.
  static let oversampling8: UInt8 = 0x00
  static let normal: UInt8 = 0x01
  static let suspended: UInt8 = 0x00
  // Status
  static let isNew: UInt8 = 0x01
  static let isOverflow: UInt8 = 0x02
}

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

extension MagnetometerChip {
  static var qmc5883p: MagnetometerChip {
    MagnetometerChip(
      name: "qmc5883p", title: "QMC5883P", addresses: [0x2C],
      identity: ChipIdentity(register: QMC5883PRegister.chipID, values: [QMC5883PRegister.identity]),
      provenAgainst: "PX4, ArduPilot",
      // 0.15 mA is roughly the current at 50 Hz. 0.003 mA is the current when suspended.
      milliamperes: 0.15, sleepMilliamperes: 0.003, ratesHz: 10...200,
      actualRate: { QMC5883PRate(nearest: $0).hertz },
      makeDriver: { QMC5883PDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(QMC5883PRegister.suspended, to: QMC5883PRegister.control1)
      })
  }
}
