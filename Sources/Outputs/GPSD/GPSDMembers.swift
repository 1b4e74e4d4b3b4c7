/// The members of a request's object. This type reads them as gpsd's own parser does, which accepts more than JSON:
/// some clients send `{"raw",2}`, or omit the closing brace.
///
/// A value counts only if something follows it, usually a comma or the closing brace. As a boolean, only the word
/// `true` is true; as an integer, a word that does not begin with a number is 0.
struct GPSDMembers {
  /// The object is malformed, or a value has quotes where none belong, or lacks them. The raw value is gpsd's error
  /// message.
  enum Refusal: String, Error {
    case quoted = "saw quoted value when expecting nonstring"
    case unquoted = "didn't see quoted value when expecting string"
    case noObject = "non-whitespace when expecting object start"
    case noMember = "non-whitespace when expecting attribute start"
  }

  private enum Value {
    case quoted(String)
    case word(String)
    /// A list or an object, which no request uses.
    case nested
  }

  private var values: [String: Value] = [:]

  init(_ bytes: [UInt8]) throws(Refusal) {
    var rest = bytes[...]
    rest = rest.drop(while: GPSDMembers.isBlank)
    guard rest.popFirst() == UInt8(ascii: "{") else { throw .noObject }
    while true {
      rest = rest.drop { GPSDMembers.isBlank($0) || $0 == UInt8(ascii: ",") }
      guard let next = rest.popFirst(), next != UInt8(ascii: "}") else { return }
      guard next == UInt8(ascii: "\"") else { throw .noMember }
      guard let name = GPSDMembers.takeString(&rest) else { return }
      rest = rest.drop { GPSDMembers.isBlank($0) || $0 == UInt8(ascii: ":") }
      guard let value = GPSDMembers.takeValue(&rest) else { return }
      rest = rest.drop(while: GPSDMembers.isBlank)
      guard !rest.isEmpty else { return }
      values[name] = value
    }
  }

  func boolean(_ name: String) throws(Refusal) -> Bool? {
    try word(name).map { $0 == "true" }
  }

  func integer(_ name: String) throws(Refusal) -> Int? {
    try word(name).map { Int($0.prefix { $0.isASCII && $0.isNumber || $0 == "-" }) ?? 0 }
  }

  func number(_ name: String) throws(Refusal) -> Double? { try word(name).flatMap { Double($0) } }

  func string(_ name: String) throws(Refusal) -> String? {
    switch values[name] {
    case nil: nil
    case .quoted(let text): text
    case .word, .nested: throw .unquoted
    }
  }

  private func word(_ name: String) throws(Refusal) -> String? {
    switch values[name] {
    case nil: nil
    case .word(let text): text
    case .quoted: throw .quoted
    case .nested: ""
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || 9...13 ~= byte }

  /// Takes a string up to its closing quote; `nil` if the quote is missing.
  private static func takeString(_ rest: inout ArraySlice<UInt8>) -> String? {
    var text: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst() else { return nil }
        switch escaped {
        case UInt8(ascii: "n"): text.append(10)
        case UInt8(ascii: "t"): text.append(9)
        case UInt8(ascii: "r"): text.append(13)
        case UInt8(ascii: "u"):
          let digits = String(decoding: rest.prefix(4), as: UTF8.self)
          rest = rest.dropFirst(4)
          guard let code = UInt16(digits, radix: 16), let scalar = Unicode.Scalar(code) else { continue }
          text += Array(String(Character(scalar)).utf8)
        default: text.append(escaped)
        }
      default: text.append(byte)
      }
    }
    return nil
  }

  private static func takeValue(_ rest: inout ArraySlice<UInt8>) -> Value? {
    guard let first = rest.first else { return nil }
    switch first {
    case UInt8(ascii: "\""):
      rest = rest.dropFirst()
      return takeString(&rest).map(Value.quoted)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      return skipNested(&rest) ? .nested : nil
    default:
      // The first byte always belongs to the value.
      let end = rest.dropFirst().firstIndex { isBlank($0) || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "}") }
      guard let end else { return nil }
      defer { rest = rest[end...] }
      return .word(String(decoding: rest[..<end], as: UTF8.self))
    }
  }

  private static func skipNested(_ rest: inout ArraySlice<UInt8>) -> Bool {
    var depth = 0
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): if takeString(&rest) == nil { return false }
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth == 0 { return true }
      default: break
      }
    }
    return false
  }
}
