import HardwareIO
import MonotonicTime

/// Registers of the LIS3MDL, by the names and sections of its data sheet (DocID024204, revision 6).
///
/// Pitfalls:
///
/// - A burst continues with the next register only if the top bit of the register's number is set.
/// - A reset does not stop a conversion.
/// - Two registers set the performance of the axes, one for x and y, and one for z.
enum LIS3MDLRegister {
  /// Identification, 7.1.
  static let whoAmI: UInt8 = 0x0F
  /// Performance and rate of x and y, 7.2.
  static let control1: UInt8 = 0x20
  /// Full scale, reboot and reset, 7.3.
  static let control2: UInt8 = 0x21
  /// Continuous, single or powered down, 7.4.
  static let control3: UInt8 = 0x22
  /// Performance of z, and the order of bytes, 7.5.
  static let control4: UInt8 = 0x23
  /// Block data update, which keeps both bytes of a number from one measurement, 7.6.
  static let control5: UInt8 = 0x24
  /// The flags of new measurements, 7.7.
  static let status: UInt8 = 0x27
  /// x, y and z in order, low byte first, 7.8.
  static let output: UInt8 = 0x28

  static let identity: UInt8 = 0x3D
  /// Makes a burst continue with the next register, 5.1.1.
  static let advancing: UInt8 = 0x80

  static let reset: UInt8 = 0x04
  /// The full scale of 4 gauss, with 6842 units per gauss.
  static let fullScale4Gauss: UInt8 = 0x00
  static let unitsPerGauss: Float = 6842
  /// Ultra-high performance, with a noise of 3.2 milligauss.
  static let ultraHighPerformanceXY: UInt8 = 0x60
  static let ultraHighPerformanceZ: UInt8 = 0x0C
  static let continuous: UInt8 = 0x00
  static let poweredDown: UInt8 = 0x03
  static let blockUpdate: UInt8 = 0x40
  static let allAxesAreNew: UInt8 = 0x08
}

/// Driver of the LIS3MDL, a magnetometer.
final class LIS3MDLDriver: PolledDriver {
  private static let microteslaPerUnit = 100 / LIS3MDLRegister.unitsPerGauss

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: LIS3MDLRate

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 6)
    rate = LIS3MDLRate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    let chip = MagnetometerChip.lis3mdl
    try chip.identity.require(chip.title, of: registers)
    try registers.write(LIS3MDLRegister.reset, to: LIS3MDLRegister.control2)
    connection.pause(.milliseconds(5))
    try registers.write(LIS3MDLRegister.ultraHighPerformanceXY | rate.bits, to: LIS3MDLRegister.control1)
    try registers.write(LIS3MDLRegister.fullScale4Gauss, to: LIS3MDLRegister.control2)
    try registers.write(LIS3MDLRegister.ultraHighPerformanceZ, to: LIS3MDLRegister.control4)
    try registers.write(LIS3MDLRegister.blockUpdate, to: LIS3MDLRegister.control5)
    try registers.write(LIS3MDLRegister.continuous, to: LIS3MDLRegister.control3)
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    guard try registers.read(LIS3MDLRegister.status) & LIS3MDLRegister.allAxesAreNew != 0 else { return nil }
    let bytes = try registers.read(LIS3MDLRegister.output | LIS3MDLRegister.advancing, count: 6)
    let units = SIMD3(bytes.littleEndian(at: 0), bytes.littleEndian(at: 2), bytes.littleEndian(at: 4))
    guard units.isWithinScale else { return nil }
    return MagnetometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz), field: SIMD3<Float>(units) * LIS3MDLDriver.microteslaPerUnit)
  }

  func stop() { try? registers.write(LIS3MDLRegister.poweredDown, to: LIS3MDLRegister.control3) }
}

/// A rate that the LIS3MDL supports, with the register value for it.
struct LIS3MDLRate {
  private static let all: [Double] = [0.625, 1.25, 2.5, 5, 10, 20, 40, 80]

  let hertz: Double
  /// The bits for control register 1.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = LIS3MDLRate.all.slowestRate(for: requested)
    hertz = LIS3MDLRate.all[index]
    bits = UInt8(index) << 2
  }
}

extension MagnetometerChip {
  static var lis3mdl: MagnetometerChip {
    MagnetometerChip(
      name: "lis3mdl", title: "LIS3MDL", addresses: [0x1C, 0x1E],
      identity: ChipIdentity(register: LIS3MDLRegister.whoAmI, values: [LIS3MDLRegister.identity]),
      provenAgainst: "Linux (st_magn)",
      // The currents are from table 3: ultra-high performance at 20 Hz, and powered down.
      milliamperes: 0.27, sleepMilliamperes: 0.001, ratesHz: 0.625...80,
      actualRate: { LIS3MDLRate(nearest: $0).hertz },
      makeDriver: { LIS3MDLDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(LIS3MDLRegister.poweredDown, to: LIS3MDLRegister.control3)
      })
  }
}
