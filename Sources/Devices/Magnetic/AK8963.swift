import HardwareIO
import MonotonicTime

/// Registers of the AK8963, by the names of its data sheet (MS1356-E-02).
///
/// Pitfalls:
///
/// - In an MPU-9250, the AK8963 answers only while the bypass of the MPU-9250 is on.
/// - After any byte of a measurement is read, the output registers keep that measurement until status 2 is read.
/// - After power-down is set, the chip accepts another mode only after 100 microseconds.
/// - The trim can be read only in the mode `fuseAccess`.
/// - The chip's x axis is the y axis of the MPU-9250, its y axis is the x axis, and its z axis points the other way.
/// - The only rates are 8 Hz and 100 Hz.
enum AK8963Register {
  /// WIA, Device ID; INFO follows, which no data sheet describes.
  static let whoIAm: UInt8 = 0x00
  /// ST1, Status 1.
  static let status1: UInt8 = 0x02
  /// HXL to HZH: x, y and z in order, low byte first. ST2, Status 2, follows.
  static let output: UInt8 = 0x03
  /// CNTL1, Control 1: mode in bits 3:0, and the units.
  static let control1: UInt8 = 0x0A
  /// CNTL2, Control 2.
  static let control2: UInt8 = 0x0B
  /// ASAX, ASAY and ASAZ: Sensitivity Adjustment values.
  static let trim: UInt8 = 0x10

  static let identity: UInt8 = 0x48
  /// The values of the AK09911, AK09912, AK09915, AK09916 and AK09918 at the address of INFO. The other registers of
  /// these chips differ from the AK8963's.
  static let youngerIdentities: [UInt8] = [0x05, 0x04, 0x10, 0x09, 0x0C]

  // Status 1
  static let isNew: UInt8 = 0x01
  // Status 2
  static let isOverflow: UInt8 = 0x08
  /// The bit in status 2 that repeats the 16-bit setting of control 1.
  static let hasFineUnits: UInt8 = 0x10
  // Control 1
  static let poweredDown: UInt8 = 0x00
  static let continuous8Hz: UInt8 = 0x02
  static let continuous100Hz: UInt8 = 0x06
  static let fuseAccess: UInt8 = 0x0F
  /// The output has 16 bits.
  static let fineUnits: UInt8 = 0x10
  static let microteslaPerUnit: Float = 0.15
  // Control 2
  static let reset: UInt8 = 0x01
}

/// Driver of the AK8963, the magnetometer in the package of an MPU-9250 or MPU-9255.
///
/// The driver gives the field in the axes of the IMU (MPU-9250 product specification, orientation of axes), so that
/// both have the same `mount` in a board file. If the chip does not answer, the driver enables the bypass of the IMU,
/// which connects the chip to the bus. The IMU stays asleep or awake, as it was.
final class AK8963Driver: PolledDriver {
  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: AK8963Rate
  private var bypass: MagnetometerBypass.Patience
  /// The scale of each of the chip's own axes in microtesla per unit, including the factory trim.
  private var microteslaPerUnit = SIMD3<Float>.zero

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 7)
    rate = AK8963Rate(nearest: configuration.rateHz)
    bypass = MagnetometerBypass.Patience(rateHz: rate.hertz)
  }

  func start() throws(HardwareError) {
    try MagnetometerBypass.require(.ak8963, of: registers, close: MagnetometerBypass.closeMPU)
    // The reset powers the chip down. The chip accepts a mode only when it is powered down.
    try registers.write(AK8963Register.reset, to: AK8963Register.control2)
    connection.pause(.milliseconds(10))
    try enter(AK8963Register.fuseAccess)
    let trim = try readTrim()
    microteslaPerUnit = (trim + 128) / 256 * AK8963Register.microteslaPerUnit
    try enter(AK8963Register.poweredDown)
    try enter(AK8963Register.fineUnits | rate.mode)
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    try bypass.bear { () throws(HardwareError) in try measurement() }
  }

  private func measurement() throws(HardwareError) -> MagnetometerSample? {
    guard try registers.read(AK8963Register.status1) & AK8963Register.isNew != 0 else { return nil }
    let bytes = try registers.read(AK8963Register.output, count: 7)
    // The bytes include status 2. Reading it lets the chip store its next measurement.
    let status = bytes[6]
    guard status & AK8963Register.isOverflow == 0, status & AK8963Register.hasFineUnits != 0 else { return nil }
    let units = SIMD3<Float>(
      Float(bytes.littleEndian(at: 0)), Float(bytes.littleEndian(at: 2)), Float(bytes.littleEndian(at: 4)))
    let field = units * microteslaPerUnit
    return MagnetometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz), field: SIMD3(field.y, field.x, -field.z))
  }

  func stop() { try? registers.write(AK8963Register.poweredDown, to: AK8963Register.control1) }

  /// Sets a mode, and waits longer than the 100 microseconds after which the chip accepts another mode.
  private func enter(_ mode: UInt8) throws(HardwareError) {
    try registers.write(mode, to: AK8963Register.control1)
    connection.pause(.milliseconds(1))
  }

  /// The factory trim of each axis, from the chip's fuses. A trim of 128 leaves the scale unchanged.
  private func readTrim() throws(HardwareError) -> SIMD3<Float> {
    let bytes = try registers.read(AK8963Register.trim, count: 3)
    guard bytes.allSatisfy({ $0 != 0x00 && $0 != 0xFF }) else {
      throw .unexpectedDevice(
        "the magnetometer at 0x\(String(registers.address, radix: 16)) on \(registers.bus.name) has no valid factory calibration"
      )
    }
    return SIMD3(Float(bytes[0]), Float(bytes[1]), Float(bytes[2]))
  }
}

/// A rate that the AK8963 supports, with the register value for it.
struct AK8963Rate {
  private static let all: [Double] = [8, 100]
  private static let modes = [AK8963Register.continuous8Hz, AK8963Register.continuous100Hz]

  let hertz: Double
  /// The value for control 1.
  let mode: UInt8

  init(nearest requested: Double) {
    let index = AK8963Rate.all.slowestRate(for: requested)
    hertz = AK8963Rate.all[index]
    mode = AK8963Rate.modes[index]
  }
}

extension MagnetometerChip {
  static var ak8963: MagnetometerChip {
    MagnetometerChip(
      name: "ak8963", title: "AK8963 of an MPU-9250", addresses: [0x0C],
      identity: ChipIdentity(
        register: AK8963Register.whoIAm,
        toldBy: "its maker number, without the number of a newer chip"
      ) {
        (registers) throws(HardwareError) in
        let bytes = try registers.read(AK8963Register.whoIAm, count: 2)
        return bytes[0] == AK8963Register.identity && !AK8963Register.youngerIdentities.contains(bytes[1])
      },
      provenAgainst: "Linux (ak8975)",
      // 3.5 mA is the current at 100 Hz, estimated from 0.28 mA at 8 Hz. 0.003 mA is the current when powered down.
      milliamperes: 3.5, sleepMilliamperes: 0.003, ratesHz: 8...100,
      actualRate: { AK8963Rate(nearest: $0).hertz },
      makeDriver: { AK8963Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(AK8963Register.poweredDown, to: AK8963Register.control1)
      })
  }
}
