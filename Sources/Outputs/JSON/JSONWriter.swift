import NMEA

/// Writes JSON into a byte buffer that is reused, so that a steady stream of objects allocates nothing.
///
/// Numbers have a fixed count of decimals, as in the protocols, or are exact. A value that is not finite is omitted:
/// JSON cannot express it, and clients do not expect `null`.
public struct JSONWriter: ~Copyable, @unchecked Sendable {
  // `@unchecked` is safe here: this value alone owns the memory and cannot be copied, so the memory has only one
  // user.
  private var base: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  public private(set) var count = 0
  private var needsComma = false
  /// The text that `endLine` writes.
  public var lineEnd: StaticString = "\n"

  public init(capacity: Int = 4096) {
    self.capacity = capacity
    base = .allocate(capacity: capacity)
  }

  deinit { base.deallocate() }

  /// The bytes that have been written.
  public var bytes: UnsafeBufferPointer<UInt8> {
    // The methods of this type keep the first `count` bytes of `base` initialised; these bytes stay valid until the
    // next write.
    UnsafeBufferPointer(start: base, count: count)
  }

  public mutating func removeAll() {
    count = 0
    needsComma = false
  }

  /// Ends a line between the objects of a stream.
  public mutating func endLine() {
    append(lineEnd)
    needsComma = false
  }

  /// Makes room for `additional` bytes.
  @inline(__always)
  private mutating func reserve(_ additional: Int) {
    if count + additional > capacity { grow(additional) }
  }

  @inline(never)
  private mutating func grow(_ additional: Int) {
    let larger = max(capacity * 2, count + additional)
    let new = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    new.update(from: base, count: count)
    base.deallocate()
    base = new
    capacity = larger
  }

  @inline(__always)
  private mutating func append(_ byte: UInt8) {
    reserve(1)
    base[count] = byte
    count += 1
  }

  @inline(__always)
  private mutating func append(_ text: StaticString) {
    let length = text.utf8CodeUnitCount
    reserve(length)
    (base + count).update(from: text.utf8Start, count: length)
    count += length
  }

  public mutating func beginObject() { open(UInt8(ascii: "{")) }
  public mutating func endObject() { close(UInt8(ascii: "}")) }
  public mutating func beginArray() { open(UInt8(ascii: "[")) }
  public mutating func endArray() { close(UInt8(ascii: "]")) }

  private mutating func open(_ bracket: UInt8) {
    separate()
    append(bracket)
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    append(bracket)
    needsComma = true
  }

  @inline(__always)
  private mutating func separate() {
    if needsComma { append(UInt8(ascii: ",")) }
    needsComma = true
  }

  /// This function is inlined: with a known length, copying a key takes only a few moves.
  @inline(__always)
  public mutating func key(_ key: StaticString) {
    let length = key.utf8CodeUnitCount
    reserve(length &+ 4)
    var next = base + count
    if needsComma {
      next.pointee = UInt8(ascii: ",")
      next += 1
    }
    next.pointee = UInt8(ascii: "\"")
    JSONWriter.copy(key.utf8Start, length, to: next + 1)
    next[length &+ 1] = UInt8(ascii: "\"")
    next[length &+ 2] = UInt8(ascii: ":")
    count = next - base &+ length &+ 3
    needsComma = false
  }

  /// Writes text without changes, including its commas and brackets, and then a number.
  @inline(__always)
  public mutating func fragment(_ text: StaticString, then value: Int) {
    fragment(text)
    appendInteger(value)
  }

  /// Writes text without changes.
  public mutating func text(_ text: String) {
    for byte in text.utf8 { append(byte) }
  }

  /// Writes a value that is already JSON.
  public mutating func value(_ json: [UInt8]) {
    separate()
    reserve(json.count)
    json.withUnsafeBufferPointer { bytes in
      if let start = bytes.baseAddress { (base + count).update(from: start, count: bytes.count) }
    }
    count += json.count
  }

  /// Writes a number without a comma before it.
  public mutating func fragment(_ value: Double, decimals: Int) { appendNumber(value, decimals: decimals) }

  @inline(__always)
  public mutating func fragment(_ text: StaticString) {
    let length = text.utf8CodeUnitCount
    reserve(length)
    JSONWriter.copy(text.utf8Start, length, to: base + count)
    count &+= length
  }

  /// Copies a text, usually a key. Most keys have 4 to 8 bytes; these are copied as two overlapping words, which is
  /// faster than a call of `memcpy`.
  @inline(__always)
  private static func copy(_ letters: UnsafePointer<UInt8>, _ length: Int, to place: UnsafeMutablePointer<UInt8>) {
    let from = UnsafeRawPointer(letters)
    let to = UnsafeMutableRawPointer(place)
    switch length {
    case 4...8:
      let last = from.loadUnaligned(fromByteOffset: length &- 4, as: UInt32.self)
      to.storeBytes(of: from.loadUnaligned(as: UInt32.self), as: UInt32.self)
      to.storeBytes(of: last, toByteOffset: length &- 4, as: UInt32.self)
    default: for index in 0..<length { place[index] = letters[index] }
    }
  }

  /// Writes a key that is known only at run time.
  public mutating func key(dynamic key: String) {
    string(key)
    append(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func string(_ value: String) {
    separate()
    append(UInt8(ascii: "\""))
    if value.utf8.allSatisfy({ $0 < 0x7F }) {
      for byte in value.utf8 { appendEscaped(byte) }
    } else {
      for scalar in value.unicodeScalars { appendEscaped(scalar) }
    }
    append(UInt8(ascii: "\""))
  }

  /// Escapes an invisible character. A parser reads the same text, and a terminal can show it safely.
  private mutating func appendEscaped(_ scalar: Unicode.Scalar) {
    if scalar.value < 0x7F {
      appendEscaped(UInt8(truncatingIfNeeded: scalar.value))
    } else if Text.isHidden(scalar) {
      text(Text.escape(ofJSON: scalar))
    } else {
      for byte in String(scalar).utf8 { append(byte) }
    }
  }

  private mutating func appendEscaped(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      append(UInt8(ascii: "\\"))
      append(byte)
    case 0..<0x20:
      let digits = StaticString("0123456789abcdef").utf8Start
      append("\\u00")
      append(digits[Int(byte >> 4)])
      append(digits[Int(byte & 15)])
    default: append(byte)
    }
  }

  /// Writes a string without escaping.
  ///
  /// - Precondition: `value` is plain ASCII without quotes and backslashes.
  public mutating func literal(_ value: StaticString) {
    separate()
    append(UInt8(ascii: "\""))
    append(value)
    append(UInt8(ascii: "\""))
  }

  public mutating func boolean(_ value: Bool) {
    separate()
    let word: StaticString = value ? "true" : "false"
    append(word)
  }

  @inline(__always)
  public mutating func integer(_ value: Int) {
    separate()
    appendInteger(value)
  }

  @inline(__always)
  private mutating func appendInteger(_ value: Int) {
    // Most numbers have one or two digits.
    if value >= 0, value < 100 {
      reserve(2)
      let pair = JSONWriter.digitPairs.utf8Start + 2 &* value
      base[count] = pair[value < 10 ? 1 : 0]
      base[count &+ 1] = pair[1]
      count &+= value < 10 ? 1 : 2
      return
    }
    if value < 0 { append(UInt8(ascii: "-")) }
    appendDigits(Int(clamping: value.magnitude), minimum: 1)
  }

  /// Writes a number with a fixed count of decimals.
  ///
  /// - Precondition: `value` is finite, and `decimals` is at most 18.
  public mutating func number(_ value: Double, decimals: Int) {
    separate()
    appendNumber(value, decimals: decimals)
  }

  private mutating func appendNumber(_ value: Double, decimals: Int) {
    let magnitude = value.magnitude
    guard magnitude < 9e18 else {
      // The value is outside the range of every field; the shortest exact form is still valid JSON.
      for byte in value.description.utf8 { append(byte) }
      return
    }
    let scale = JSONWriter.powersOfTen[decimals]
    let scaled = magnitude * Double(scale)
    var whole = Int(magnitude)
    // The digits are those of the rounded product. So 1.0005 becomes 1.001, although the double is slightly less than
    // 1.0005.
    var fraction =
      scaled < 9e15
      ? Int(scaled + 0.5) &- whole &* scale : Int((magnitude - Double(whole)) * Double(scale) + 0.5)
    if fraction >= scale {
      whole &+= 1
      fraction &-= scale
    }
    reserve(JSONWriter.longestNumber)
    if value < 0, whole | fraction != 0 { append(UInt8(ascii: "-")) }
    count &+= JSONWriter.write(whole, digits: JSONWriter.digitCount(whole), to: base + count)
    guard decimals > 0 else { return }
    base[count] = UInt8(ascii: ".")
    count &+= 1
    count &+= JSONWriter.write(fraction, digits: decimals, to: base + count)
  }

  /// The maximum length of a number: a sign, a point, and nineteen digits on either side.
  private static let longestNumber = 40

  /// Writes at least `minimum` digits of a non-negative number.
  @inline(__always)
  private mutating func appendDigits(_ value: Int, minimum: Int) {
    let digits = max(minimum, JSONWriter.digitCount(value))
    reserve(digits)
    count &+= JSONWriter.write(value, digits: digits, to: base + count)
  }

  @inline(__always)
  private static func digitCount(_ value: Int) -> Int {
    if value < 10 { return 1 }
    var digits = 2
    while digits < 19, value >= powersOfTen[digits] { digits &+= 1 }
    return digits
  }

  /// Writes digits from the last one backwards, two at a time.
  ///
  /// - Returns: the number of digits
  @inline(__always)
  private static func write(_ value: Int, digits: Int, to place: UnsafeMutablePointer<UInt8>) -> Int {
    let pairs = digitPairs.utf8Start
    var rest = UInt(bitPattern: value)
    var length = digits
    while length >= 2 {
      length &-= 2
      let quotient = rest / 100
      let pair = Int(truncatingIfNeeded: rest &- quotient &* 100) &* 2
      place[length] = pairs[pair]
      place[length &+ 1] = pairs[pair &+ 1]
      rest = quotient
    }
    if length == 1 { place[0] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest) }
    return digits
  }

  private static var digitPairs: StaticString {
    """
    0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
    5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
    """
  }

  private static let powersOfTen: InlineArray<19, Int> = [
    1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000,
    100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000,
    10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000,
  ]

  // MARK: Members of an object, left out without a value

  @inline(__always)
  public mutating func member(_ key: StaticString, _ value: Double?, decimals: Int) {
    guard let value, value.isFinite else { return }
    self.key(key)
    number(value, decimals: decimals)
  }

  /// Writes a direction in degrees, from 0 to less than 360.
  @inline(__always)
  public mutating func member(_ key: StaticString, bearing degrees: Double?, decimals: Int) {
    guard let degrees, degrees.isFinite else { return }
    self.key(key)
    number(Angle.bearing(degrees, decimals: decimals), decimals: decimals)
  }

  /// Writes the shortest number that reads back as this value. A number of more than fifteen characters needs a
  /// short-lived allocation.
  public mutating func member<Value: FloatingPoint & CustomStringConvertible>(
    _ key: StaticString, exactly value: Value?
  ) {
    guard let value, value.isFinite else { return }
    self.key(key)
    separate()
    text(value.description)
  }

  public mutating func member(_ key: StaticString, _ value: Int?) {
    guard let value else { return }
    self.key(key)
    integer(value)
  }

  public mutating func member(_ key: StaticString, _ value: String?) {
    guard let value else { return }
    self.key(key)
    string(value)
  }

  public mutating func member(_ key: StaticString, literal value: StaticString) {
    self.key(key)
    literal(value)
  }

  public mutating func member(_ key: StaticString, _ value: Bool) {
    self.key(key)
    boolean(value)
  }

  /// Writes a time as `2026-11-21T03:07:19.000Z`.
  public mutating func member(_ key: StaticString, time: JSONTime?) {
    guard let time else { return }
    self.key(key)
    self.time(time)
  }

  /// Writes a time without a key, as an element of an array.
  public mutating func time(_ time: JSONTime) {
    separate()
    append(UInt8(ascii: "\""))
    appendDigits(max(time.year, 0), minimum: 4)
    append(UInt8(ascii: "-"))
    appendDigits(time.month, minimum: 2)
    append(UInt8(ascii: "-"))
    appendDigits(time.day, minimum: 2)
    append(UInt8(ascii: "T"))
    appendDigits(time.hour, minimum: 2)
    append(UInt8(ascii: ":"))
    appendDigits(time.minute, minimum: 2)
    append(UInt8(ascii: ":"))
    appendDigits(time.second, minimum: 2)
    append(UInt8(ascii: "."))
    appendDigits(time.millisecond, minimum: 3)
    append(UInt8(ascii: "Z"))
    append(UInt8(ascii: "\""))
  }
}
