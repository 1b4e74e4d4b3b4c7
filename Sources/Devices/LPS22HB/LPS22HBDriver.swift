import HardwareIO
import MonotonicTime

/// Driver of the LPS22HB, and of the LPS33HW and LPS35HW, which identify themselves in the same way.
final class LPS22HBDriver: PolledDriver {
  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: LPS22HBRate

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 3)
    rate = LPS22HBRate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    let chip = BarometerChip.lps22hb
    try chip.identity.require(chip.title, of: registers)
    try registers.write(LPS22HBRegister.reset, to: LPS22HBRegister.control2)
    connection.pause(.milliseconds(5))
    try registers.write(rate.bits | LPS22HBRegister.blockUpdate, to: LPS22HBRegister.control1)
  }

  func read() throws(HardwareError) -> BarometerSample? {
    let status = try registers.read(LPS22HBRegister.status)
    guard status & LPS22HBRegister.bothAreNew == LPS22HBRegister.bothAreNew else { return nil }
    let temperature = try registers.read(LPS22HBRegister.temperature, count: 2).littleEndian(at: 0)
    // Read the pressure last: reading its high byte lets the chip store the next measurement of both values.
    let bytes = try registers.read(LPS22HBRegister.pressure, count: 3)
    let pressure = Int(bytes.littleEndian(at: 1)) << 8 | Int(bytes[0])
    return BarometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz),
      pressurePascals: Double(pressure) / LPS22HBRegister.unitsPerPascal,
      temperatureCelsius: Double(temperature) / LPS22HBRegister.unitsPerDegree)
  }

  func stop() { try? registers.write(LPS22HBRegister.poweredDown, to: LPS22HBRegister.control1) }
}

/// A rate that the LPS22HB supports, with the register value for it.
struct LPS22HBRate {
  private static let all: [Double] = [1, 10, 25, 50, 75]

  let hertz: Double
  /// The bits for control register 1.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = LPS22HBRate.all.slowestRate(for: requested)
    hertz = LPS22HBRate.all[index]
    bits = UInt8(index + 1) << 4
  }
}
