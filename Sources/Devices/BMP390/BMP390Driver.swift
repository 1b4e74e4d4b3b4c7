import HardwareIO
import MonotonicTime

/// Driver of the BMP388 and the BMP390, which are barometers.
final class BMP390Driver: PolledDriver {
  static let identities = [BMP390Register.bmp388, BMP390Register.bmp390]

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let rate: BMP390Rate
  private var coefficients: BMP390Coefficients?

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 21)
    rate = BMP390Rate(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    // The driver accepts either chip, whichever of the two the board file names.
    try ChipIdentity(register: BMP390Register.chipID, values: BMP390Driver.identities).require(
      "BMP388 or BMP390", of: registers)
    try registers.write(BMP390Register.resetCommand, to: BMP390Register.command)
    // The chip answers 2 ms after a reset, and then copies its coefficients.
    connection.pause(.milliseconds(3))
    var looks = 0
    while try registers.read(BMP390Register.status) & BMP390Register.takesCommands == 0, looks < 5 {
      connection.pause(.milliseconds(2))
      looks += 1
    }
    coefficients = BMP390Coefficients(try registers.read(BMP390Register.coefficients, count: 21))
    try registers.write(rate.oversamplingBits, to: BMP390Register.oversampling)
    try registers.write(rate.bits, to: BMP390Register.rate)
    try registers.write(BMP390Register.noFilter, to: BMP390Register.configuration)
    try registers.write(BMP390Register.normalMode, to: BMP390Register.powerControl)
  }

  func read() throws(HardwareError) -> BarometerSample? {
    guard let coefficients else { return nil }
    let isNew = try registers.read(BMP390Register.status) & BMP390Register.bothAreNew == BMP390Register.bothAreNew
    guard isNew else { return nil }
    let bytes = try registers.read(BMP390Register.data, count: 6)
    func number(_ offset: Int) -> Int {
      Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 | Int(bytes[offset + 2]) << 16
    }
    let (pressure, temperature) = (number(0), number(3))
    // A stuck bus returns two equal numbers.
    guard pressure != temperature, pressure != BMP390Register.nothing, temperature != BMP390Register.nothing else {
      return nil
    }
    return BarometerSample(
      goodAt: connection.measuredAt(rateHz: rate.hertz),
      pressurePascals: coefficients.pressure(pressure, temperature: temperature),
      temperatureCelsius: coefficients.temperature(temperature))
  }

  func stop() { try? registers.write(BMP390Register.sleepMode, to: BMP390Register.powerControl) }
}

/// A rate of the chip, and its oversampling of the pressure.
struct BMP390Rate {
  /// A measurement takes 0.79 ms, plus 2.02 ms for each sample of pressure or temperature; the temperature has one
  /// sample.
  private static let all: [(hertz: Double, bits: UInt8, oversamplingBits: UInt8)] = [
    (0.78125, 0x08, 0x03), (1.5625, 0x07, 0x03), (3.125, 0x06, 0x03), (6.25, 0x05, 0x03), (12.5, 0x04, 0x03),
    (25, 0x03, 0x03), (50, 0x02, 0x02), (100, 0x01, 0x01), (200, 0x00, 0x00),
  ]

  let hertz: Double
  /// The value for the register of the rate.
  let bits: UInt8
  /// The oversampling: 8 samples of the pressure if the rate leaves time for them, and one of the temperature.
  let oversamplingBits: UInt8

  init(nearest requested: Double) {
    let chosen = BMP390Rate.all[BMP390Rate.all.map(\.hertz).slowestRate(for: requested)]
    hertz = chosen.hertz
    bits = chosen.bits
    oversamplingBits = chosen.oversamplingBits
  }
}
