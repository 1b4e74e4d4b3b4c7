/// The calibration coefficients of a DPS310, and the formulas that convert raw values with them (data sheet, section
/// 4.9).
struct DPS310Coefficients: Sendable {
  private let t: (c0: Double, c1: Double)
  private let p: (c00: Double, c10: Double, c01: Double, c11: Double, c20: Double, c21: Double, c30: Double)

  /// - Parameter bytes: 18 bytes from the coefficients' first register on
  init(_ bytes: UnsafeRawBufferPointer) {
    func byte(_ offset: Int) -> Int { Int(bytes[offset]) }
    func signed(_ number: Int, bits: Int) -> Double { Double(number < 1 << (bits - 1) ? number : number - 1 << bits) }
    func whole(_ offset: Int) -> Double { Double(bytes.bigEndian(at: offset)) }
    let c0 = byte(0) << 4 | byte(1) >> 4
    let c1 = (byte(1) & 0x0F) << 8 | byte(2)
    t = (signed(c0, bits: 12), signed(c1, bits: 12))
    let c00 = byte(3) << 12 | byte(4) << 4 | byte(5) >> 4
    let c10 = (byte(5) & 0x0F) << 16 | byte(6) << 8 | byte(7)
    p = (signed(c00, bits: 20), signed(c10, bits: 20), whole(8), whole(10), whole(12), whole(14), whole(16))
  }

  /// The temperature in degrees Celsius.
  ///
  /// - Parameter scaled: the raw number divided by the scale factor of its oversampling
  func temperature(_ scaled: Double) -> Double { t.c0 / 2 + t.c1 * scaled }

  /// The pressure in Pa.
  ///
  /// - Parameters:
  ///   - scaled: the raw number divided by the scale factor of its oversampling
  ///   - temperature: the raw number of the temperature divided by its scale factor
  func pressure(_ scaled: Double, temperature: Double) -> Double {
    let cold = p.c00 + scaled * (p.c10 + scaled * (p.c20 + scaled * p.c30))
    return cold + temperature * (p.c01 + scaled * (p.c11 + scaled * p.c21))
  }
}
