import HardwareIO

/// The calibration coefficients of an MS5611, and the formulas that convert raw values with them: section "pressure
/// and temperature calculation" of the data sheet, including the second order.
struct MS5611PROM: Sendable {
  /// The eight words: one for the manufacturer, six coefficients, and one with a serial number and the checksum.
  private var words = SIMD8<UInt16>()

  init(_ registers: I2CRegisters) throws(HardwareError) {
    for index in 0..<8 {
      let bytes = try registers.read(MS5611Command.readPROM + UInt8(2 * index), count: 2)
      words[index] = UInt16(bitPattern: bytes.bigEndian(at: 0))
    }
  }

  /// Whether the contents are those of an MS5611: no coefficient is missing, and the checksum is right.
  var isGenuine: Bool {
    for index in 1...6 where words[index] == 0 || words[index] == 0xFFFF { return false }
    return words[7] & 0x000F == check
  }

  /// The checksum: four bits over all words except the byte that contains it (application note AN520).
  private var check: UInt16 {
    var remainder: UInt16 = 0
    for index in 0..<8 {
      let word = index == 7 ? words[7] & 0xFF00 : words[index]
      for byte in [word >> 8, word & 0xFF] {
        remainder ^= byte
        for _ in 0..<8 { remainder = remainder & 0x8000 == 0 ? remainder << 1 : remainder << 1 ^ 0x3000 }
      }
    }
    return remainder >> 12
  }

  /// The pressure in Pa, and the temperature in degrees Celsius.
  func pressureAndTemperature(_ rawPressure: Int, _ rawTemperature: Int) -> (pascals: Double, celsius: Double) {
    func c(_ index: Int) -> Double { Double(words[index]) }
    let difference = Double(rawTemperature) - c(5) * 0x1p8
    var hundredths = 2000 + difference * c(6) * 0x1p-23
    var offset = c(2) * 0x1p16 + c(4) * difference * 0x1p-7
    var slope = c(1) * 0x1p15 + c(3) * difference * 0x1p-8
    if hundredths < 2000 {
      let cold = (hundredths - 2000) * (hundredths - 2000)
      offset -= cold * 5 / 2
      slope -= cold * 5 / 4
      if hundredths < -1500 {
        let veryCold = (hundredths + 1500) * (hundredths + 1500)
        offset -= veryCold * 7
        slope -= veryCold * 11 / 2
      }
      hundredths -= difference * difference * 0x1p-31
    }
    return ((Double(rawPressure) * slope * 0x1p-21 - offset) * 0x1p-15, hundredths / 100)
  }
}
