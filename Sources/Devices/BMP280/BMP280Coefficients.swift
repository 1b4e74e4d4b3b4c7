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
