/// Reads numbers in CSV and JSON without making strings. A recording of a day has many millions of numbers.
public enum DecimalNumber {
  /// Reads a decimal number, correctly rounded, and ignores blanks around it. Returns `nil` for anything else.
  public static func read(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
    var index = 0
    var end = text.count
    while index < end, text[index] <= 0x20 { index += 1 }
    while end > index, text[end - 1] <= 0x20 { end -= 1 }
    let start = index
    var isNegative = false
    if index < end, text[index] == UInt8(ascii: "-") || text[index] == UInt8(ascii: "+") {
      isNegative = text[index] == UInt8(ascii: "-")
      index += 1
    }
    var mantissa: UInt64 = 0
    var digits = 0
    var decimals = 0
    var sawPoint = false
    while index < end {
      let digit = text[index] &- UInt8(ascii: "0")
      if digit <= 9 {
        mantissa = mantissa &* 10 &+ UInt64(digit)
        digits += mantissa == 0 ? 0 : 1
        if sawPoint { decimals += 1 }
      } else if text[index] == UInt8(ascii: "."), !sawPoint {
        sawPoint = true
      } else {
        break
      }
      index += 1
    }
    // Both operands are exact, so the division rounds only once.
    if index == end, index > start, digits <= 15, decimals <= 22 {
      guard text[end - 1] != UInt8(ascii: "-"), text[end - 1] != UInt8(ascii: "+"), !(sawPoint && end - start == 1)
      else {
        return nil
      }
      let value = Double(mantissa) / powersOfTen[decimals]
      return isNegative ? -value : value
    }
    return Double(String(decoding: text[start..<end], as: UTF8.self))
  }

  private static let powersOfTen: [Double] = (0...22).map { exponent in
    (0..<exponent).reduce(1.0) { value, _ in value * 10 }
  }
}
