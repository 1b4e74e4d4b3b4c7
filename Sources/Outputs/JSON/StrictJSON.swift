/// Checks that every parser accepts a text as JSON (RFC 8259). Foundation's decoder is too lenient: it skips parts
/// that it does not look for, and accepts invalid commas, numbers, escapes and encodings. Text that becomes part of
/// another document must be valid throughout.
struct StrictJSON {
  private static let mostDepth = 64

  private var rest: ArraySlice<UInt8>
  private var depth = 0

  /// Whether the text is one object without duplicate keys. JSON readers disagree about which of two equal keys
  /// counts.
  static func isObject(_ text: [UInt8]) -> Bool {
    guard String(validating: text, as: UTF8.self) != nil else { return false }
    var reader = StrictJSON(rest: text[...])
    reader.skipBlanks()
    guard reader.rest.first == UInt8(ascii: "{"), reader.takeValue() else { return false }
    reader.skipBlanks()
    return reader.rest.isEmpty
  }

  private init(rest: ArraySlice<UInt8>) { self.rest = rest }

  private mutating func skipBlanks() { rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) } }

  private mutating func take(_ text: StaticString) -> Bool {
    let isThere = text.withUTF8Buffer { rest.starts(with: $0) }
    if isThere { rest = rest.dropFirst(text.utf8CodeUnitCount) }
    return isThere
  }

  private mutating func takeValue() -> Bool {
    depth += 1
    defer { depth -= 1 }
    guard depth <= StrictJSON.mostDepth else { return false }
    switch rest.first {
    case UInt8(ascii: "{"): return takeObject()
    case UInt8(ascii: "["): return takeList(until: "]") { $0.takeValue() }
    case UInt8(ascii: "\""): return takeString() != nil
    default: return take("true") || take("false") || take("null") || takeNumber()
    }
  }

  private mutating func takeObject() -> Bool {
    var keys: Set<ArraySlice<UInt8>> = []
    return takeList(until: "}") { reader in
      // A key with escapes is refused, because it may equal another key.
      guard let key = reader.takeString(), !key.contains(UInt8(ascii: "\\")), keys.insert(key).inserted else {
        return false
      }
      reader.skipBlanks()
      guard reader.take(":") else { return false }
      reader.skipBlanks()
      return reader.takeValue()
    }
  }

  /// Takes the contents between a bracket and its counterpart, separated by commas.
  private mutating func takeList(until end: StaticString, _ takeElement: (inout StrictJSON) -> Bool) -> Bool {
    rest = rest.dropFirst()
    skipBlanks()
    if take(end) { return true }
    repeat {
      skipBlanks()
      guard takeElement(&self) else { return false }
      skipBlanks()
    } while take(",")
    return take(end)
  }

  /// Takes the contents between the quotes.
  private mutating func takeString() -> ArraySlice<UInt8>? {
    guard take("\"") else { return nil }
    let begin = rest
    while let byte = rest.popFirst(), byte >= 0x20 {
      if byte == UInt8(ascii: "\"") { return begin[..<(rest.startIndex - 1)] }
      guard byte == UInt8(ascii: "\\") else { continue }
      guard let escaped = rest.popFirst(), "\"\\/bfnrtu".utf8.contains(escaped) else { return nil }
      guard escaped == UInt8(ascii: "u") else { continue }
      guard rest.prefix(4).filter(StrictJSON.isHexadecimal).count == 4 else { return nil }
      rest = rest.dropFirst(4)
    }
    return nil
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    Character(Unicode.Scalar(byte)).isHexDigit
  }

  private mutating func takeNumber() -> Bool {
    _ = take("-")
    guard take("0") || takeDigits() else { return false }
    if take("."), !takeDigits() { return false }
    guard take("e") || take("E") else { return true }
    _ = take("+") || take("-")
    return takeDigits()
  }

  private mutating func takeDigits() -> Bool {
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    rest = rest.dropFirst(digits.count)
    return !digits.isEmpty
  }
}
