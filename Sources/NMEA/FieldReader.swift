/// Reads the comma-separated fields of one sentence from left to right, in place and without allocating.
///
/// A field that is empty, missing or malformed reads as `nil`. Receivers leave a field empty if its value is unknown,
/// so a missing value is not an error.
///
/// The reader points into a buffer of its caller. It is valid only during the call that parses the sentence. `position`
/// never passes `end`.
struct FieldReader {
  private var position: UnsafePointer<UInt8>
  private let end: UnsafePointer<UInt8>

  /// The number of unread fields; negative if more fields were read than exist. The framer has counted the fields, so
  /// the number costs nothing.
  private(set) var remaining: Int

  /// - Parameters:
  ///   - body: the bytes after the address field's comma, without the checksum
  ///   - count: the number of fields in the body
  init(_ body: UnsafeBufferPointer<UInt8>, count: Int) {
    // An empty buffer may have no base address, and has nothing to read.
    if let base = body.baseAddress, count > 0 {
      position = base
      end = base + body.count
      remaining = count
    } else {
      position = UnsafePointer(bitPattern: 1).unsafelyUnwrapped
      end = position
      remaining = 0
    }
  }

  @inline(__always)
  mutating func skip(_ count: Int = 1) {
    for _ in 0..<count { leaveField() }
  }

  @inline(__always)
  private mutating func leaveField() {
    while position < end, position.pointee != Byte.comma { position += 1 }
    closeField()
  }

  /// Skips a comma. Call this with `position` on the comma or at the end.
  @inline(__always)
  private mutating func closeField() {
    remaining &-= 1
    if position < end { position += 1 }
  }

  /// Skips the padding at the beginning of a field, because some manufacturers right-align numbers.
  @inline(__always)
  private mutating func skipBlanks() {
    while position < end, position.pointee == Byte.blank { position += 1 }
  }

  /// The field's first character that is not a blank.
  @inline(__always)
  mutating func character() -> UInt8? {
    skipBlanks()
    let first: UInt8? = position < end && position.pointee != Byte.comma ? position.pointee : nil
    leaveField()
    return first
  }

  /// The field's bytes without the blanks around them, valid as long as the sentence's buffer.
  @inline(__always)
  mutating func bytes() -> UnsafeBufferPointer<UInt8> {
    skipBlanks()
    let start = position
    while position < end, position.pointee != Byte.comma { position += 1 }
    var count = position - start
    while count > 0, start[count - 1] == Byte.blank { count -= 1 }
    let field = UnsafeBufferPointer(start: start, count: count)
    closeField()
    return field
  }

  /// A whole number. Reading stops at the first character that is not a digit, because some receivers append units.
  @inline(__always)
  mutating func integer() -> Int? {
    // Nearly all numbers have one to three digits and a comma after them, so these are read without a loop.
    if end - position >= 4 {
      let first = Int(position[0] &- Byte.zero)
      if first <= 9 {
        if position[1] == Byte.comma { return leave(after: 2, with: first) }
        let second = Int(position[1] &- Byte.zero)
        if second <= 9 {
          if position[2] == Byte.comma { return leave(after: 3, with: first &* 10 &+ second) }
          let third = Int(position[2] &- Byte.zero)
          if third <= 9, position[3] == Byte.comma {
            return leave(after: 4, with: (first &* 10 &+ second) &* 10 &+ third)
          }
        }
      } else if position[0] == Byte.comma {
        return leave(after: 1, with: nil)
      }
    }
    let (value, next) = FieldReader.longInteger(position, end)
    position = next
    closeField()
    return value
  }

  @inline(__always)
  private mutating func leave(after characters: Int, with value: Int?) -> Int? {
    position += characters
    remaining &-= 1
    return value
  }

  /// Reads any whole number, and finds the end of its field. The function takes no reader, so that a reader can stay in
  /// registers.
  @inline(never)
  private static func longInteger(
    _ start: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>
  ) -> (value: Int?, end: UnsafePointer<UInt8>) {
    var position = start
    var isNegative = false
    while position < end, position.pointee == Byte.blank { position += 1 }
    if position < end, position.pointee == Byte.minus || position.pointee == Byte.plus {
      isNegative = position.pointee == Byte.minus
      position += 1
    }
    let firstDigit = position
    var value = 0
    while position < end {
      let digit = position.pointee &- Byte.zero
      if digit > 9 { break }
      // The multiplication wraps around for numbers that are too large for any field. Such numbers are refused below.
      value = value &* 10 &+ Int(digit)
      position += 1
    }
    let digits = position - firstDigit
    while position < end, position.pointee != Byte.comma { position += 1 }
    return (digits == 0 || digits > 18 ? nil : isNegative ? -value : value, position)
  }

  /// A decimal number. With up to 15 digits it is correctly rounded.
  @inline(__always)
  mutating func number() -> Double? {
    guard let decimal = decimal(takesExponent: true) else { return nil }
    return decimal.value
  }

  /// A direction in degrees from north, 0 to 360; `nil` outside this range.
  @inline(__always)
  mutating func direction() -> Double? {
    guard let degrees = number(), (0...360).contains(degrees) else { return nil }
    return degrees
  }

  /// A decimal number before rounding.
  ///
  /// - Parameter takesExponent: whether `8.3e-05` is a number. Some programs print small numbers in this form. Times
  ///   and angles, whose digits have fixed places, have no exponent
  @inline(__always)
  mutating func decimal(takesExponent: Bool = false) -> Decimal? {
    skipBlanks()
    var isNegative = false
    if position < end {
      if position.pointee == Byte.minus {
        isNegative = true
        position += 1
      } else if position.pointee == Byte.plus {
        position += 1
      }
    }
    var mantissa: UInt64 = 0
    let whole = takeDigits(into: &mantissa, before: end)
    guard whole <= Decimal.maximumDigits else {
      leaveField()
      return nil
    }
    var decimals = 0
    let hasPoint = position < end && position.pointee == Byte.point
    if hasPoint {
      position += 1
      // Eighteen digits fit, and the last one is less than a nanometre on the globe. Further digits are ignored.
      let room = Decimal.maximumDigits - whole
      decimals = takeDigits(into: &mantissa, before: end - position > room ? position + room : end)
      while position < end, position.pointee &- Byte.zero <= 9 { position += 1 }
    }
    let number = Decimal(mantissa: mantissa, decimals: decimals, isNegative: isNegative, hasPoint: hasPoint)
    let hasDigits = whole + decimals > 0
    if hasDigits, position < end, position.pointee | 0x20 == UInt8(ascii: "e"),
      let exponent = FieldReader.exponent(position, end)
    {
      leaveField()
      return takesExponent ? number.scaled(byTensTo: exponent) : nil
    }
    leaveField()
    return hasDigits ? number : nil
  }

  /// The exponent after the `e` at `start`, at most a thousand; `nil` if no digit follows, because the `e` then belongs
  /// to a unit.
  @inline(never)
  private static func exponent(_ start: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> Int? {
    var position = start + 1
    let isNegative = position < end && position.pointee == Byte.minus
    if position < end, isNegative || position.pointee == Byte.plus { position += 1 }
    var value = 0
    var digits = 0
    while position < end, position.pointee &- Byte.zero <= 9 {
      value = min(1000, value * 10 + Int(position.pointee &- Byte.zero))
      digits += 1
      position += 1
    }
    return digits == 0 ? nil : isNegative ? -value : value
  }

  /// Reads digits up to the first other character. If there are more than eighteen, `mantissa` wraps around.
  ///
  /// - Returns: the number of digits
  @inline(__always)
  private mutating func takeDigits(into mantissa: inout UInt64, before end: UnsafePointer<UInt8>) -> Int {
    let first = position
    while position < end {
      let digit = position.pointee &- Byte.zero
      if digit > 9 { break }
      mantissa = mantissa &* 10 &+ UInt64(digit)
      position += 1
    }
    return position - first
  }

  /// Reads two fields: degrees and minutes as `dddmm.mmmm`, and the hemisphere. The result is in degrees, positive
  /// north and east. A sign, minutes beyond sixty, or another letter give `nil`.
  @inline(__always)
  mutating func angle(positive: UInt8, negative: UInt8) -> Double? {
    let decimal = decimal()
    let hemisphere = character()
    guard let decimal, let hemisphere, decimal.hasPoint, !decimal.isNegative else { return nil }
    guard hemisphere == positive || hemisphere == negative else { return nil }
    let scale = Decimal.powersOfTen[decimal.decimals]
    let whole = decimal.mantissa / scale
    let fraction = decimal.mantissa % scale
    let degrees = whole / 100
    let minutes = Double(whole % 100) + Double(fraction) / Double(scale)
    // Rounding may give exactly sixty minutes, so sixty is accepted.
    guard minutes <= 60 else { return nil }
    let value = Double(degrees) + minutes / 60
    return hemisphere == negative ? -value : value
  }

  /// Reads four fields: latitude, N or S, longitude, E or W. The result has both values or none.
  @inline(__always)
  mutating func coordinate() -> Coordinate? {
    let latitude = angle(positive: Byte.N, negative: Byte.S)
    let longitude = angle(positive: Byte.E, negative: Byte.W)
    guard let latitude, let longitude, abs(latitude) <= 90, abs(longitude) <= 180 else { return nil }
    return Coordinate(latitudeDegrees: latitude, longitudeDegrees: longitude)
  }

  /// Reads a time: `hhmmss` with an optional fraction.
  @inline(__always)
  mutating func timeOfDay() -> TimeOfDay? {
    skipBlanks()
    let start = position
    guard let decimal = decimal() else { return nil }
    // The format has six digits before the point; with fewer, the field holds something else.
    var whole = 0
    var cursor = start
    while cursor < end, cursor.pointee &- Byte.zero <= 9 {
      whole += 1
      cursor += 1
    }
    guard whole == 6, !decimal.isNegative else { return nil }
    return TimeOfDay(hhmmss: decimal)
  }

  /// Reads a date: `ddmmyy`. Two-digit years mean 1969 to 2068.
  @inline(__always)
  mutating func date() -> CalendarDate? {
    let field = bytes()
    guard field.count == 6 else { return nil }
    var digits = 0
    for byte in field {
      let digit = byte &- Byte.zero
      guard digit <= 9 else { return nil }
      digits = digits * 10 + Int(digit)
    }
    let shortYear = digits % 100
    return CalendarDate(
      year: shortYear < 69 ? 2000 + shortYear : 1900 + shortYear, month: digits / 100 % 100, day: digits / 10000)
  }

  /// Reads a hexadecimal digit, the form of signal IDs in NMEA 4.11.
  @inline(__always)
  mutating func hexadecimalDigit() -> UInt8? {
    character().flatMap { Byte.hexadecimalValue($0) }
  }

  /// Reads two fields: a magnitude, and the letter that gives its sign.
  mutating func signed(positive: UInt8, negative: UInt8) -> Double? {
    let magnitude = number()
    switch character() {
    case positive: return magnitude
    case negative: return magnitude.map { -$0 }
    default: return nil
    }
  }

  /// Reads two fields: a number, and its unit, which must be M.
  mutating func metres() -> Double? {
    let value = number()
    return character() == Byte.M ? value : nil
  }

  /// The digits of a decimal number before rounding.
  struct Decimal {
    var mantissa: UInt64
    var decimals: Int
    var isNegative: Bool
    var hasPoint: Bool

    /// The number of digits that always fit into a `UInt64`.
    static let maximumDigits = 18

    @inline(__always)
    var value: Double {
      // Both operands are exact below 2^53, so this division rounds only once. Neither operand is above 10^18, so a
      // signed conversion works. It takes one instruction instead of half a dozen.
      let magnitude = Double(Int64(truncatingIfNeeded: mantissa)) / Decimal.doublePower(decimals)
      return isNegative ? -magnitude : magnitude
    }

    @inline(__always)
    static func doublePower(_ exponent: Int) -> Double { Double(Int64(truncatingIfNeeded: powersOfTen[exponent])) }

    /// The number times a power of ten. It is zero if no digit remains, and `nil` if it does not fit into 18 digits.
    @inline(never)
    func scaled(byTensTo exponent: Int) -> Decimal? {
      var scaled = self
      scaled.decimals -= exponent
      while scaled.decimals < 0 {
        let (product, overflows) = scaled.mantissa.multipliedReportingOverflow(by: 10)
        guard !overflows, product <= Decimal.powersOfTen[Decimal.maximumDigits] else { return nil }
        scaled.mantissa = product
        scaled.decimals += 1
      }
      while scaled.decimals > Decimal.maximumDigits {
        scaled.mantissa /= 10
        scaled.decimals -= 1
        if scaled.mantissa == 0 { scaled.decimals = 0 }
      }
      return scaled
    }

    static let powersOfTen: InlineArray<19, UInt64> = [
      1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000,
      100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000,
      10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000,
    ]
  }
}

/// The ASCII characters of sentences.
enum Byte {
  static let lineFeed = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")
  static let dollar = UInt8(ascii: "$")
  static let exclamation = UInt8(ascii: "!")
  static let hash = UInt8(ascii: "#")
  static let star = UInt8(ascii: "*")
  static let plus = UInt8(ascii: "+")
  static let comma = UInt8(ascii: ",")
  static let minus = UInt8(ascii: "-")
  static let point = UInt8(ascii: ".")
  static let blank = UInt8(ascii: " ")
  static let zero = UInt8(ascii: "0")
  static let A = UInt8(ascii: "A")
  static let C = UInt8(ascii: "C")
  static let D = UInt8(ascii: "D")
  static let E = UInt8(ascii: "E")
  static let F = UInt8(ascii: "F")
  static let M = UInt8(ascii: "M")
  static let N = UInt8(ascii: "N")
  static let P = UInt8(ascii: "P")
  static let R = UInt8(ascii: "R")
  static let S = UInt8(ascii: "S")
  static let T = UInt8(ascii: "T")
  static let U = UInt8(ascii: "U")
  static let V = UInt8(ascii: "V")
  static let W = UInt8(ascii: "W")

  @inline(__always)
  static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Whether the bytes are these ASCII characters.
  @inline(__always)
  func spells(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    let letters = text.utf8Start
    for index in 0..<count where self[index] != letters[index] { return false }
    return true
  }
}
