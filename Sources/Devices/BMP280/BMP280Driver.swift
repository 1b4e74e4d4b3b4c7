import HardwareIO
import MonotonicTime

/// Driver of the BMP280 and the BME280, which measures humidity as well.
final class BMP280Driver: PolledDriver {
  static let identities = [BMP280Register.bmp280, BMP280Register.bme280]

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let standby: BMP280Standby
  private var coefficients: BMP280Coefficients?
  private var hasHumidity = false
  /// The raw pressure, temperature and humidity of the last read. The chip does not mark new measurements, so the
  /// driver treats equal values as the same measurement.
  private var last: (Int, Int, Int) = (0, 0, 0)

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.connection = connection
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 24)
    standby = BMP280Standby(nearest: configuration.rateHz)
  }

  func start() throws(HardwareError) {
    // The driver accepts either chip, whichever of the two the board file names.
    try ChipIdentity(register: BMP280Register.chipID, values: BMP280Driver.identities).require(
      "BMP280 or BME280", of: registers)
    hasHumidity = try registers.read(BMP280Register.chipID) == BMP280Register.bme280
    try registers.write(BMP280Register.resetCommand, to: BMP280Register.reset)
    // The chip starts within 2 ms of a reset (table 2), and then copies its coefficients.
    connection.pause(.milliseconds(3))
    var looks = 0
    while try registers.read(BMP280Register.status) & BMP280Register.isCopying != 0, looks < 5 {
      connection.pause(.milliseconds(2))
      looks += 1
    }
    var coefficients = BMP280Coefficients(try registers.read(BMP280Register.coefficients, count: 24))
    if hasHumidity {
      let first = try registers.read(BMP280Register.firstHumidityCoefficient)
      coefficients.addHumidity(first: first, try registers.read(BMP280Register.humidityCoefficients, count: 7))
      try registers.write(BMP280Register.humidityOnce, to: BMP280Register.humidityControl)
    }
    self.coefficients = coefficients
    last = (0, 0, 0)
    try registers.write(standby.bits, to: BMP280Register.configuration)
    try registers.write(BMP280Register.normalMode, to: BMP280Register.control)
  }

  func read() throws(HardwareError) -> BarometerSample? {
    guard let coefficients else { return nil }
    let bytes = try registers.read(BMP280Register.data, count: hasHumidity ? 8 : 6)
    func twentyBits(_ offset: Int) -> Int {
      Int(bytes[offset]) << 12 | Int(bytes[offset + 1]) << 4 | Int(bytes[offset + 2]) >> 4
    }
    let raw = (twentyBits(0), twentyBits(3), hasHumidity ? Int(bytes[6]) << 8 | Int(bytes[7]) : 0)
    // Two real measurements with the same forty bits are possible; dropping one is no loss.
    guard raw != last, raw.0 != BMP280Register.nothing, raw.1 != BMP280Register.nothing else { return nil }
    last = raw
    return BarometerSample(
      goodAt: connection.measuredAt(rateHz: standby.hertz),
      pressurePascals: coefficients.pressure(raw.0, temperature: raw.1),
      temperatureCelsius: coefficients.temperature(raw.1),
      humidityPercent: hasHumidity ? coefficients.humidity(raw.2, temperature: raw.1) : nil)
  }

  func stop() { try? registers.write(BMP280Register.sleepMode, to: BMP280Register.control) }
}

/// The time between two measurements (table 11), and the resulting rate.
struct BMP280Standby {
  /// The typical duration of a measurement with this configuration (3.8.1); humidity takes two milliseconds more.
  private static let measurementMilliseconds = 13.5
  /// The settings with the same meaning in both chips.
  private static let all: [(milliseconds: Double, bits: UInt8)] = [
    (1000, 0xA0), (500, 0x80), (250, 0x60), (125, 0x40), (62.5, 0x20), (0.5, 0x00),
  ]

  let hertz: Double
  /// The bits of the configuration, without a filter.
  let bits: UInt8

  init(nearest requested: Double) {
    func hertz(_ milliseconds: Double) -> Double { 1000 / (milliseconds + BMP280Standby.measurementMilliseconds) }
    let chosen = BMP280Standby.all.first { hertz($0.milliseconds) >= requested * 0.95 } ?? (0.5, 0x00)
    self.hertz = hertz(chosen.milliseconds)
    bits = chosen.bits
  }
}
