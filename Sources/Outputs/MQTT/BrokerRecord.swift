/// A message between a hub and its `BrokerProcess`, as bytes on their socket. A record has a length of four bytes, a
/// kind of one byte, and the fields. A number, or a flag as 0 or 1, has four bytes, least significant first; a text or
/// a payload is a length and then its bytes.
struct BrokerRecord {
  private var rest: [UInt8]

  init(_ kind: UInt8) { rest = [kind] }

  mutating func add(_ number: UInt32) { rest += BrokerRecord.bytes(of: number) }

  mutating func add(_ flag: Bool) { add(flag ? 1 : 0) }

  mutating func add(_ payload: [UInt8]) {
    add(UInt32(payload.count))
    rest += payload
  }

  mutating func add(_ text: String) { add(Array(text.utf8)) }

  /// Adds an optional text. `nil` differs from an empty text.
  mutating func add(optional text: String?) {
    add(text != nil)
    if let text { add(text) }
  }

  var bytes: [UInt8] { BrokerRecord.bytes(of: UInt32(rest.count)) + rest }

  private static func bytes(of number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian, Array.init) }
}

/// The bytes are not a valid record. The other end cannot be trusted any more.
struct MalformedBrokerRecord: Error, Equatable {}

/// Reads the fields of a record in order.
struct BrokerFields {
  let kind: UInt8
  private var rest: ArraySlice<UInt8>

  /// - Parameter record: the record without its length
  init(_ record: ArraySlice<UInt8>) throws(MalformedBrokerRecord) {
    guard let kind = record.first else { throw MalformedBrokerRecord() }
    self.kind = kind
    rest = record.dropFirst()
  }

  mutating func number() throws(MalformedBrokerRecord) -> UInt32 {
    guard rest.count >= 4 else { throw MalformedBrokerRecord() }
    defer { rest = rest.dropFirst(4) }
    return rest.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  mutating func flag() throws(MalformedBrokerRecord) -> Bool {
    let number = try number()
    guard number <= 1 else { throw MalformedBrokerRecord() }
    return number == 1
  }

  mutating func payload() throws(MalformedBrokerRecord) -> [UInt8] {
    guard let count = Int(exactly: try number()), count <= rest.count else { throw MalformedBrokerRecord() }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func text() throws(MalformedBrokerRecord) -> String {
    guard let text = String(validating: try payload(), as: UTF8.self) else { throw MalformedBrokerRecord() }
    return text
  }

  mutating func optionalText() throws(MalformedBrokerRecord) -> String? { try flag() ? try text() : nil }

  /// Throws if bytes follow the last field.
  func end() throws(MalformedBrokerRecord) { if !rest.isEmpty { throw MalformedBrokerRecord() } }
}
