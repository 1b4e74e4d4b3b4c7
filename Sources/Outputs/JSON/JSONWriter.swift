/// Writes JSON into a byte buffer that is used again and again, so that a steady stream of objects allocates nothing.
///
/// Numbers are written with a fixed count of decimals, as the protocols have them, and a value that is not finite is
/// left out: JSON cannot say it and clients do not expect `null`.
public struct JSONWriter: ~Copyable {
  public private(set) var bytes: [UInt8] = []
  private var needsComma = false

  public init(capacity: Int = 4096) { bytes.reserveCapacity(capacity) }

  public var count: Int { bytes.count }

  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// Ends a line: between objects of a stream.
  public mutating func endLine() {
    bytes.append(UInt8(ascii: "\n"))
    needsComma = false
  }

  public mutating func beginObject() { open(UInt8(ascii: "{")) }
  public mutating func endObject() { close(UInt8(ascii: "}")) }
  public mutating func beginArray() { open(UInt8(ascii: "[")) }
  public mutating func endArray() { close(UInt8(ascii: "]")) }

  private mutating func open(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  public mutating func key(_ key: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  public mutating func string(_ value: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    for byte in value.utf8 { appendEscaped(byte) }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      bytes.append(UInt8(ascii: "\\"))
      bytes.append(byte)
    case 0..<0x20:
      let digits = StaticString("0123456789abcdef").utf8Start
      bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
      bytes.append(digits[Int(byte >> 4)])
      bytes.append(digits[Int(byte & 15)])
    default: bytes.append(byte)
    }
  }

  /// - Precondition: plain ASCII without quotes.
  public mutating func literal(_ value: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: UnsafeBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
    bytes.append(UInt8(ascii: "\""))
  }

  public mutating func boolean(_ value: Bool) {
    separate()
    let word: StaticString = value ? "true" : "false"
    bytes.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
  }

  public mutating func integer(_ value: Int) {
    separate()
    appendInteger(value)
  }

  private mutating func appendInteger(_ value: Int) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    appendDigits(value.magnitude, minimum: 1)
  }

  /// - Precondition: `value` is finite and below 10^18 when scaled by 10^`decimals`.
  public mutating func number(_ value: Double, decimals: Int) {
    separate()
    appendNumber(value, decimals: decimals)
  }

  private mutating func appendNumber(_ value: Double, decimals: Int) {
    let scale = JSONWriter.powersOfTen[decimals]
    let scaled = (value * Double(scale)).rounded(.toNearestOrEven)
    guard abs(scaled) < 9e18 else {
      // Far outside what any field holds; the shortest exact form is still valid JSON.
      bytes.append(contentsOf: value.description.utf8)
      return
    }
    let magnitude = UInt(scaled.magnitude)
    if scaled < 0 { bytes.append(UInt8(ascii: "-")) }
    appendDigits(magnitude / scale, minimum: 1)
    if decimals > 0 {
      bytes.append(UInt8(ascii: "."))
      appendDigits(magnitude % scale, minimum: decimals)
    }
  }

  private mutating func appendDigits(_ value: UInt, minimum: Int) {
    var digits = InlineArray<20, UInt8>(repeating: UInt8(ascii: "0"))
    var rest = value
    var length = 0
    repeat {
      let quotient = rest / 10
      digits[19 - length] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest &- quotient &* 10)
      rest = quotient
      length += 1
    } while rest > 0
    let count = max(length, minimum)
    for index in (20 - count)..<20 { bytes.append(digits[index]) }
  }

  private static let powersOfTen: InlineArray<10, UInt> = [
    1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000,
  ]

  // MARK: Members of an object, left out where there is nothing to say

  @inline(__always)
  public mutating func member(_ key: StaticString, _ value: Double?, decimals: Int) {
    guard let value, value.isFinite else { return }
    self.key(key)
    number(value, decimals: decimals)
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

  /// A time as `2026-11-21T03:07:19.000Z`.
  public mutating func member(_ key: StaticString, time: JSONTime?) {
    guard let time else { return }
    self.key(key)
    separate()
    bytes.append(UInt8(ascii: "\""))
    appendDigits(UInt(max(time.year, 0)), minimum: 4)
    bytes.append(UInt8(ascii: "-"))
    appendDigits(UInt(time.month), minimum: 2)
    bytes.append(UInt8(ascii: "-"))
    appendDigits(UInt(time.day), minimum: 2)
    bytes.append(UInt8(ascii: "T"))
    appendDigits(UInt(time.hour), minimum: 2)
    bytes.append(UInt8(ascii: ":"))
    appendDigits(UInt(time.minute), minimum: 2)
    bytes.append(UInt8(ascii: ":"))
    appendDigits(UInt(time.second), minimum: 2)
    bytes.append(UInt8(ascii: "."))
    appendDigits(UInt(time.millisecond), minimum: 3)
    bytes.append(UInt8(ascii: "Z"))
    bytes.append(UInt8(ascii: "\""))
  }
}
