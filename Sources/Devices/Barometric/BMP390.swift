import HardwareIO
import MonotonicTime

/// Registers of the BMP388 and BMP390, by the names of their data sheets (BST-BMP388-DS001; BST-BMP390-DS002), which
/// have the same map.
///
/// Pitfalls:
///
/// - Raw values have no meaning without the chip's own coefficients.
/// - A rate that leaves no time for the oversampling is a configuration error, and the chip falls asleep instead of
///   measuring.
/// - The low byte of a value comes first; in the BMP280, the high byte comes first.
enum BMP390Register {
  /// CHIP_ID.
  static let chipID: UInt8 = 0x00
  /// STATUS: flags of new measurements, and whether a command is accepted.
  static let status: UInt8 = 0x03
  /// DATA_0 and following: pressure and temperature, 24 bits each, low byte first.
  static let data: UInt8 = 0x04
  /// PWR_CTRL: the mode, and the enabled sensors.
  static let powerControl: UInt8 = 0x1B
  /// OSR: oversampling.
  static let oversampling: UInt8 = 0x1C
  /// ODR: rate.
  static let rate: UInt8 = 0x1D
  /// CONFIG: filter.
  static let configuration: UInt8 = 0x1F
  /// NVM_PAR_T1 and following: 21 bytes of coefficients, low byte first.
  static let coefficients: UInt8 = 0x31
  /// CMD.
  static let command: UInt8 = 0x7E

  static let bmp388: UInt8 = 0x50
  static let bmp390: UInt8 = 0x60
  static let resetCommand: UInt8 = 0xB6
  static let takesCommands: UInt8 = 0x10
  /// Pressure and temperature are new.
  static let bothAreNew: UInt8 = 0x60
  /// Pressure and temperature are measured continuously.
  static let normalMode: UInt8 = 0x33
  static let sleepMode: UInt8 = 0x00
  static let noFilter: UInt8 = 0x00
  /// The raw pressure or temperature before the first measurement, 24 bits.
  static let nothing = 0x800000
}

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

/// The calibration coefficients of a BMP388 or BMP390, and the formulas that convert raw values with them: the
/// floating-point formulas of the data sheets' appendix on compensation.
struct BMP390Coefficients: Sendable {
  private let t: (Double, Double, Double)
  private let p: (Double, Double, Double, Double, Double, Double, Double, Double, Double, Double, Double)

  /// - Parameter bytes: 21 bytes from the coefficients' first register on
  init(_ bytes: UnsafeRawBufferPointer) {
    func signed(_ offset: Int, times unit: Double, less zero: Double = 0) -> Double {
      (Double(bytes.littleEndian(at: offset)) - zero) * unit
    }
    func unsigned(_ offset: Int, times unit: Double) -> Double {
      Double(UInt16(bitPattern: bytes.littleEndian(at: offset))) * unit
    }
    func short(_ offset: Int, times unit: Double) -> Double { Double(Int8(bitPattern: bytes[offset])) * unit }
    t = (unsigned(0, times: 0x1p8), unsigned(2, times: 0x1p-30), short(4, times: 0x1p-48))
    p = (
      signed(5, times: 0x1p-20, less: 16384), signed(7, times: 0x1p-29, less: 16384), short(9, times: 0x1p-32),
      short(10, times: 0x1p-37), unsigned(11, times: 0x1p3), unsigned(13, times: 0x1p-6), short(15, times: 0x1p-8),
      short(16, times: 0x1p-15), signed(17, times: 0x1p-48), short(19, times: 0x1p-48), short(20, times: 0x1p-65)
    )
  }

  /// The temperature in degrees Celsius.
  func temperature(_ raw: Int) -> Double {
    let deviation = Double(raw) - t.0
    return deviation * (t.1 + deviation * t.2)
  }

  /// The pressure in Pa.
  func pressure(_ raw: Int, temperature rawTemperature: Int) -> Double {
    let celsius = temperature(rawTemperature)
    let raw = Double(raw)
    let offset = p.4 + celsius * (p.5 + celsius * (p.6 + celsius * p.7))
    let slope = p.0 + celsius * (p.1 + celsius * (p.2 + celsius * p.3))
    return offset + raw * (slope + raw * (p.8 + p.9 * celsius + raw * p.10))
  }
}

extension BarometerChip {
  static var bmp388: BarometerChip { bmp390Family("bmp388", "BMP388", identity: BMP390Register.bmp388) }

  static var bmp390: BarometerChip { bmp390Family("bmp390", "BMP390", identity: BMP390Register.bmp390) }

  private static func bmp390Family(_ name: String, _ title: String, identity: UInt8) -> BarometerChip {
    BarometerChip(
      name: name, title: title, addresses: [0x77, 0x76],
      identity: ChipIdentity(register: BMP390Register.chipID, values: [identity]),
      relatives: BMP390Driver.identities,
      provenAgainst: "Linux (bmp380)",
      // The currents are for 25 Hz, when the chip measures half of the time, and for sleep.
      milliamperes: 0.35, sleepMilliamperes: 0.002, ratesHz: 0.78125...200,
      actualRate: { BMP390Rate(nearest: $0).hertz },
      makeDriver: { BMP390Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(BMP390Register.sleepMode, to: BMP390Register.powerControl)
      })
  }
}
