import HardwareIO
import MonotonicTime

/// Registers of the AK09916, by the names of the ICM-20948's data sheet (DS-000189, revision 1.3, chapters 12, 13).
///
/// Pitfalls:
///
/// - In an ICM-20948, the AK09916 answers only while the bypass of the ICM-20948 is on.
/// - After any byte of a measurement is read, the output registers keep that measurement until status 2 is read. An
///   unused byte precedes status 2.
/// - The chip accepts a mode only when it is powered down.
/// - The y and z axes are opposite to the y and z axes of the ICM-20948.
enum AK09916Register {
  /// WIA1 and WIA2, 13.1: the identities of the manufacturer (AKM) and of the chip.
  static let whoIAm: UInt8 = 0x00
  /// ST1, 13.2.
  static let status1: UInt8 = 0x10
  /// HXL to HZH, 13.3: x, y and z in order, low byte first. TMPS, an unused byte, and ST2 (13.4) follow.
  static let output: UInt8 = 0x11
  /// CNTL2, 13.5: mode in bits 4:0.
  static let control2: UInt8 = 0x31
  /// CNTL3, 13.6.
  static let control3: UInt8 = 0x32

  static let identity: [UInt8] = [0x48, 0x09]

  // Status 1
  static let isNew: UInt8 = 0x01
  // Status 2
  static let isOverflow: UInt8 = 0x08
  // Control 2
  static let poweredDown: UInt8 = 0x00
  // Control 3
  static let reset: UInt8 = 0x01

  /// The unit of the output, table 22.
  static let microteslaPerUnit: Float = 0.15
}

/// Driver of the AK09916, the magnetometer in the package of an ICM-20948.
///
/// The driver gives the field in the axes of the IMU (DS-000189, orientation of axes), so that both have the same
/// `mount` in a board file. If the chip does not answer, the driver enables the bypass of the IMU, which connects the
/// chip to the bus. The IMU stays asleep or awake, as it was.
final class AK09916Driver: PolledDriver {
  /// The signs that convert the chip's axes to the IMU's. The chip's y and z axes are opposite to the IMU's.
  private static let axes = SIMD3<Float>(1, -1, -1)

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: AK09916Rate
  private var bypass: MagnetometerBypass.Patience

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 8)
    rate = AK09916Rate(nearest: configuration.rateHz)
    bypass = MagnetometerBypass.Patience(rateHz: rate.hertz)
  }

  func start() throws(HardwareError) {
    try MagnetometerBypass.require(.ak09916, of: registers) { (imu) throws(HardwareError) in
      try MagnetometerBypass.closeICM20948(imu, pause: connection.pause)
    }
    // The reset powers the chip down. The chip accepts a mode only when it is powered down.
    try registers.write(AK09916Register.reset, to: AK09916Register.control3)
    connection.pause(.milliseconds(10))
    try registers.write(rate.mode, to: AK09916Register.control2)
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    try bypass.bear { () throws(HardwareError) in try measurement() }
  }

  private func measurement() throws(HardwareError) -> MagnetometerSample? {
    guard try registers.read(AK09916Register.status1) & AK09916Register.isNew != 0 else { return nil }
    let bytes = try registers.read(AK09916Register.output, count: 8)
    // The bytes include status 2. Reading it lets the chip store its next measurement.
    guard bytes[7] & AK09916Register.isOverflow == 0 else { return nil }
    let units = SIMD3<Float>(
      Float(bytes.littleEndian(at: 0)), Float(bytes.littleEndian(at: 2)), Float(bytes.littleEndian(at: 4)))
    return MagnetometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz),
      field: units * AK09916Driver.axes * AK09916Register.microteslaPerUnit)
  }

  func stop() { try? registers.write(AK09916Register.poweredDown, to: AK09916Register.control2) }
}

/// A rate that the AK09916 supports, with the register value for it.
struct AK09916Rate {
  private static let all: [Double] = [10, 20, 50, 100]

  let hertz: Double
  /// The value for control 2.
  let mode: UInt8

  init(nearest requested: Double) {
    let index = AK09916Rate.all.slowestRate(for: requested)
    hertz = AK09916Rate.all[index]
    mode = UInt8(index + 1) << 1
  }
}

extension MagnetometerChip {
  static var ak09916: MagnetometerChip {
    MagnetometerChip(
      name: "ak09916", title: "AK09916 of an ICM-20948", addresses: [0x0C],
      identity: ChipIdentity(register: AK09916Register.whoIAm, sequences: [AK09916Register.identity]),
      provenAgainst: "Linux (ak8975)",
      // 0.22 mA is the current at 20 Hz: a fifth of the 1.1 mA at 100 Hz. 0.001 mA is the current when powered down.
      milliamperes: 0.22, sleepMilliamperes: 0.001, ratesHz: 10...100,
      actualRate: { AK09916Rate(nearest: $0).hertz },
      makeDriver: { AK09916Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(AK09916Register.poweredDown, to: AK09916Register.control2)
      })
  }
}
