import HardwareIO
import MonotonicTime

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
