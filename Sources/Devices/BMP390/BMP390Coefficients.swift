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
