/// Reads JSON5 (spec.json5.org): JSON with comments, unquoted keys, single quotes, trailing commas and hexadecimal
/// numbers. Foundation's decoder reads it too, but does not report the line of an error.
struct JSON5Parser {
  struct Failure: Error, Equatable {
    var line: Int
    var reason: String
  }

  /// The maximum depth. A deeper document is not a board file, and would exhaust the stack.
  private static let maximumDepth = 64

  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var depth = 0

  static func parse(_ bytes: [UInt8]) throws(Failure) -> JSONValue {
    var parser = JSON5Parser(bytes: bytes)
    // Skip the byte order mark, which some editors write but do not show.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { parser.position = 3 }
    let value = try parser.value()
    try parser.skipSpace()
    guard parser.position == bytes.count else { throw parser.unexpected("after the end of the document") }
    return value
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func advance() {
    if bytes[position] == UInt8(ascii: "\n") { line += 1 }
    position += 1
  }

  private func failure(_ reason: String) -> Failure { Failure(line: line, reason: reason) }

  private func unexpected(_ place: String) -> Failure {
    guard let next else { return failure("the file ends \(place)") }
    let character = (0x21...0x7E).contains(next) ? "'\(UnicodeScalar(next))'" : "a character"
    return failure("\(character) \(place)")
  }

  private mutating func skipSpace() throws(Failure) {
    while let byte = next {
      if byte == UInt8(ascii: "/") {
        try skipComment()
      } else if byte <= 0x20 {
        advance()
      } else {
        return
      }
    }
  }

  private mutating func skipComment() throws(Failure) {
    let start = line
    advance()
    switch next {
    case UInt8(ascii: "/"): while let byte = next, byte != UInt8(ascii: "\n") { advance() }
    case UInt8(ascii: "*"):
      advance()
      while let byte = next {
        advance()
        if byte == UInt8(ascii: "*"), next == UInt8(ascii: "/") {
          advance()
          return
        }
      }
      throw Failure(line: start, reason: "a comment is not closed by */")
    default: throw unexpected("after '/'")
    }
  }

  private mutating func value() throws(Failure) -> JSONValue {
    try skipSpace()
    let start = line
    depth += 1
    defer { depth -= 1 }
    guard depth <= JSON5Parser.maximumDepth else { throw failure("nested too deeply") }
    let content: JSONValue.Content =
      switch next {
      case UInt8(ascii: "{"): try object()
      case UInt8(ascii: "["): try array()
      case UInt8(ascii: "\""), UInt8(ascii: "'"): .string(try string())
      case let byte? where isDigit(byte) || [0x2B, 0x2D, 0x2E].contains(byte): .number(try number())
      default: try word()
      }
    return JSONValue(content: content, line: start)
  }

  private mutating func object() throws(Failure) -> JSONValue.Content {
    advance()
    var members: [JSONValue.Member] = []
    var keys: Set<String> = []
    while true {
      try skipSpace()
      if next == UInt8(ascii: "}") { break }
      let (start, begin) = (line, position)
      let key = next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") ? try string() : try identifier()
      let keyRange = begin..<position
      try skipSpace()
      guard next == UInt8(ascii: ":") else { throw unexpected("where ':' should follow the key '\(shown(key))'") }
      advance()
      guard keys.insert(key).inserted else {
        throw Failure(line: start, reason: "the key '\(shown(key))' appears twice")
      }
      try skipSpace()
      let valueStart = position
      let value = try value()
      let valueEnd = position
      try skipSpace()
      let hasComma = next == UInt8(ascii: ",")
      members.append(
        JSONValue.Member(
          key: key, value: value, keyRange: keyRange, valueRange: valueStart..<valueEnd,
          end: hasComma ? position + 1 : valueEnd))
      if hasComma {
        advance()
      } else if next != UInt8(ascii: "}") {
        throw unexpected("where ',' or '}' should follow the value of '\(shown(key))'")
      }
    }
    advance()
    return .object(members)
  }

  private mutating func array() throws(Failure) -> JSONValue.Content {
    advance()
    var elements: [JSONValue] = []
    while true {
      try skipSpace()
      if next == UInt8(ascii: "]") { break }
      elements.append(try value())
      try skipSpace()
      if next == UInt8(ascii: ",") {
        advance()
      } else if next != UInt8(ascii: "]") {
        throw unexpected("where ',' or ']' should follow an element")
      }
    }
    advance()
    return .array(elements)
  }

  private mutating func identifier() throws(Failure) -> String {
    let start = position
    while let byte = next, isLetter(byte) || (position > start && isDigit(byte)) { advance() }
    guard position > start else { throw unexpected("where a key should be") }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func word() throws(Failure) -> JSONValue.Content {
    guard let byte = next, isLetter(byte) else { throw unexpected("where a value should be") }
    let word = try identifier()
    switch word {
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    case "null": return .null
    default: throw failure("'\(shown(word))' is not a value; a string needs quotes")
    }
  }

  private mutating func number() throws(Failure) -> Double {
    let start = position
    while let byte = next, isLetter(byte) || isDigit(byte) || [0x2B, 0x2D, 0x2E].contains(byte) { advance() }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    let isNegative = text.hasPrefix("-")
    let magnitude = isNegative || text.hasPrefix("+") ? text.dropFirst() : text[...]
    guard let value = JSON5Parser.magnitude(magnitude) else { throw failure("'\(shown(text))' is not a number") }
    return isNegative ? -value : value
  }

  /// Parses the text after the sign: digits, or `0x` and hexadecimal digits.
  private static func magnitude(_ text: Substring) -> Double? {
    if text.hasPrefix("0x") || text.hasPrefix("0X") {
      let digits = text.dropFirst(2)
      guard digits.utf8.allSatisfy({ hexadecimal($0) != nil }) else { return nil }
      return UInt64(digits, radix: 16).map { Double($0) }
    }
    // A sign is only allowed in an exponent, so `--5` is a mistake.
    let isPlain = text.utf8.allSatisfy { isDigit($0) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains($0) }
    guard isPlain, let first = text.utf8.first, isDigit(first) || first == UInt8(ascii: "."),
      let value = Double(text), value.isFinite
    else { return nil }
    return value
  }

  private mutating func string() throws(Failure) -> String {
    let quote = bytes[position]
    let start = line
    advance()
    var result: [UInt8] = []
    while let byte = next, byte != quote {
      guard byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") else { break }
      advance()
      if byte == UInt8(ascii: "\\") { try escape(&result) } else { result.append(byte) }
    }
    guard next == quote else { throw Failure(line: start, reason: "a string is not closed on its line") }
    advance()
    // Refuse invalid UTF-8: with a replacement character, a path would name another file.
    guard let text = String(validating: result, as: UTF8.self) else {
      throw Failure(line: start, reason: "a string is not UTF-8")
    }
    return text
  }

  /// Parses the text after a backslash (spec.json5.org, section 5.1).
  private mutating func escape(_ result: inout [UInt8]) throws(Failure) {
    guard let byte = next else { throw failure("the file ends in a string") }
    advance()
    switch byte {
    case UInt8(ascii: "b"): result.append(0x08)
    case UInt8(ascii: "t"): result.append(0x09)
    case UInt8(ascii: "n"): result.append(0x0A)
    case UInt8(ascii: "v"): result.append(0x0B)
    case UInt8(ascii: "f"): result.append(0x0C)
    case UInt8(ascii: "r"): result.append(0x0D)
    case UInt8(ascii: "0"):
      if let next, isDigit(next) { throw failure("'\\0' followed by a digit is not a valid escape") }
      result.append(0)
    case UInt8(ascii: "1")...UInt8(ascii: "9"): throw failure("'\\\(UnicodeScalar(byte))' is not a valid escape")
    // A line end after a backslash does not belong to the string.
    case UInt8(ascii: "\n"): break
    case UInt8(ascii: "\r"): if next == UInt8(ascii: "\n") { advance() }
    case 0xE2 where bytes[position...].starts(with: [0x80, 0xA8]) || bytes[position...].starts(with: [0x80, 0xA9]):
      position += 2
    case UInt8(ascii: "x"):
      result += Array(String(UnicodeScalar(UInt8(truncatingIfNeeded: try digits(2, after: "x")))).utf8)
    case UInt8(ascii: "u"): result += Array(String(try unicodeEscape()).utf8)
    default: result.append(byte)
    }
  }

  /// Parses the digits after `\u`. A character above U+FFFF takes two escapes, a surrogate pair.
  private mutating func unicodeEscape() throws(Failure) -> UnicodeScalar {
    let first = try digits(4, after: "u")
    if let scalar = UnicodeScalar(first) { return scalar }
    let name = String(first, radix: 16)
    guard (0xD800..<0xDC00).contains(first), bytes[position...].starts(with: Array("\\u".utf8)) else {
      throw failure("'\\u\(name)' is only half of a surrogate pair")
    }
    position += 2
    let second = try digits(4, after: "u")
    guard (0xDC00..<0xE000).contains(second),
      let scalar = UnicodeScalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw failure("'\\u\(name)\\u\(String(second, radix: 16))' is not a surrogate pair") }
    return scalar
  }

  private mutating func digits(_ count: Int, after letter: String) throws(Failure) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<count {
      guard let next, let digit = JSON5Parser.hexadecimal(next) else {
        throw failure("'\\\(letter)' takes \(count) hexadecimal digits")
      }
      value = value << 4 | digit
      position += 1
    }
    return value
  }

  private static func hexadecimal(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }

  /// The text as errors show it. Control characters are replaced, so that it cannot end the line or move a cursor.
  private func shown(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") {
      $0.unicodeScalars.append(BoardSection.isControl($1) ? "\u{FFFD}" : $1)
    }
  }

  private func isLetter(_ byte: UInt8) -> Bool {
    (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F || byte == 0x24 || byte >= 0x80
  }

  private func isDigit(_ byte: UInt8) -> Bool { JSON5Parser.isDigit(byte) }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
