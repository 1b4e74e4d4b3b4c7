import HardwareIO
import MonotonicTime

/// Registers of the BMP280 and BME280, by the names and sections of their data sheets (BST-BMP280-DS001, revision 1.26;
/// BST-BME280-DS002, revision 1.23).
///
/// Pitfalls:
///
/// - Raw values have no meaning without the chip's own coefficients.
/// - The humidity's oversampling takes effect only when control is written after it.
/// - The chip may ignore a write to configuration while it measures in normal mode, so write configuration before
///   control.
enum BMP280Register {
  /// Coefficients of temperature and pressure, low byte first, 3.11.2.
  static let coefficients: UInt8 = 0x88
  /// Coefficients of humidity, BME280 4.2.2. The first one is at a separate address.
  static let firstHumidityCoefficient: UInt8 = 0xA1
  static let humidityCoefficients: UInt8 = 0xE1
  /// Identification, 4.3.1.
  static let chipID: UInt8 = 0xD0
  /// Reset, 4.3.2.
  static let reset: UInt8 = 0xE0
  /// Oversampling of humidity, BME280 5.4.3.
  static let humidityControl: UInt8 = 0xF2
  /// Status: whether the chip measures or copies its coefficients, 4.3.3.
  static let status: UInt8 = 0xF3
  /// Oversampling and mode, 4.3.4.
  static let control: UInt8 = 0xF4
  /// Standby time and filter, 4.3.5.
  static let configuration: UInt8 = 0xF5
  /// Pressure and temperature, 20 bits each, then humidity, 16 bits, high byte first, 4.3.6.
  static let data: UInt8 = 0xF7

  static let bmp280: UInt8 = 0x58
  static let bme280: UInt8 = 0x60
  static let resetCommand: UInt8 = 0xB6
  static let isCopying: UInt8 = 0x01
  /// Normal mode with 4 times oversampling of the pressure and 2 times oversampling of the temperature. A measurement
  /// takes at most 16 ms.
  static let normalMode: UInt8 = 0x4F
  static let sleepMode: UInt8 = 0x4C
  /// One sample of the humidity, which adds 2 ms to a measurement.
  static let humidityOnce: UInt8 = 0x01
  /// The raw pressure or temperature before the first measurement, 20 bits.
  static let nothing = 0x80000
}

/// Driver of the BMP280 and the BME280. The BME280 also measures the humidity.
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
    // Two real measurements with the same forty bits are possible; dropping one does no harm.
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
  /// The value of the configuration register, with the chip's filter off.
  let bits: UInt8

  init(nearest requested: Double) {
    func hertz(_ milliseconds: Double) -> Double { 1000 / (milliseconds + BMP280Standby.measurementMilliseconds) }
    let chosen = BMP280Standby.all.first { hertz($0.milliseconds) >= requested * 0.95 } ?? (0.5, 0x00)
    self.hertz = hertz(chosen.milliseconds)
    bits = chosen.bits
  }
}

/// The calibration coefficients of a BMP280 or BME280, and the formulas that convert raw values with them: the
/// formulas in double precision of section 8.1 of either data sheet.
struct BMP280Coefficients: Sendable {
  private let t: (Double, Double, Double)
  private let p: (Double, Double, Double, Double, Double, Double, Double, Double, Double)
  private var h = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

  /// - Parameter bytes: 24 bytes from the coefficients' first register on
  init(_ bytes: UnsafeRawBufferPointer) {
    func signed(_ index: Int) -> Double { Double(bytes.littleEndian(at: 2 * index)) }
    func unsigned(_ index: Int) -> Double { Double(UInt16(bitPattern: bytes.littleEndian(at: 2 * index))) }
    t = (unsigned(0), signed(1), signed(2))
    p = (
      unsigned(3), signed(4), signed(5), signed(6), signed(7), signed(8), signed(9), signed(10), signed(11)
    )
  }

  /// Adds the coefficients of the humidity.
  ///
  /// - Parameters:
  ///   - first: the first coefficient, of 8 bits
  ///   - others: 7 bytes, which contain two numbers of 12 bits
  mutating func addHumidity(first: UInt8, _ others: UnsafeRawBufferPointer) {
    let middle = others[4]
    h = (
      Double(first), Double(others.littleEndian(at: 0)), Double(others[2]),
      Double(Int16(Int8(bitPattern: others[3])) << 4 | Int16(middle & 0x0F)),
      Double(Int16(Int8(bitPattern: others[5])) << 4 | Int16(middle >> 4)), Double(Int8(bitPattern: others[6]))
    )
  }

  /// The temperature in degrees Celsius.
  func temperature(_ raw: Int) -> Double { fineTemperature(raw) / 5120 }

  private func fineTemperature(_ raw: Int) -> Double {
    let deviation = Double(raw) / 131_072 - t.0 / 8192
    return (Double(raw) / 16384 - t.0 / 1024) * t.1 + deviation * deviation * t.2
  }

  /// The pressure in Pa; NaN if the chip has no coefficients.
  func pressure(_ raw: Int, temperature rawTemperature: Int) -> Double {
    let x = fineTemperature(rawTemperature) / 2 - 64000
    let offset = (x * x * p.5 / 32768 + x * p.4 * 2) / 4 + p.3 * 65536
    let scale = (1 + (p.2 * x * x / 524_288 + p.1 * x) / 524_288 / 32768) * p.0
    let pressure = (1_048_576 - Double(raw) - offset / 4096) * 6250 / scale
    return pressure + (p.8 * pressure * pressure / 2_147_483_648 + pressure * p.7 / 32768 + p.6) / 16
  }

  /// The relative humidity in percent, 0 to 100.
  func humidity(_ raw: Int, temperature rawTemperature: Int) -> Double {
    let x = fineTemperature(rawTemperature) - 76800
    let measured = Double(raw) - (h.3 * 64 + h.4 / 16384 * x)
    let linear = measured * (h.1 / 65536 * (1 + h.5 / 67_108_864 * x * (1 + h.2 / 67_108_864 * x)))
    return min(max(linear * (1 - h.0 * linear / 524_288), 0), 100)
  }
}

extension BarometerChip {
  static var bmp280: BarometerChip {
    bmp280Family("bmp280", "BMP280", identity: BMP280Register.bmp280, milliamperes: 0.3)
  }

  static var bme280: BarometerChip {
    bmp280Family("bme280", "BME280, with humidity", identity: BMP280Register.bme280, milliamperes: 0.35)
  }

  /// The entry of a BMP280 or BME280. The currents are from table 1 and section 3.8: while the chip measures half of
  /// the time, and while it sleeps.
  private static func bmp280Family(
    _ name: String, _ title: String, identity: UInt8, milliamperes: Double
  ) -> BarometerChip {
    BarometerChip(
      name: name, title: title, addresses: [0x76, 0x77],
      identity: ChipIdentity(register: BMP280Register.chipID, values: [identity]),
      relatives: BMP280Driver.identities,
      provenAgainst: "Linux (bmp280)",
      milliamperes: milliamperes, sleepMilliamperes: 0.0001, ratesHz: 0.5...70,
      actualRate: { BMP280Standby(nearest: $0).hertz },
      makeDriver: { BMP280Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(BMP280Register.sleepMode, to: BMP280Register.control)
      })
  }
}
