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

/// Cuts the bytes of a socket into records; the bytes may arrive in pieces of any size. It holds at most one record
/// and one piece.
struct BrokerRecords {
  private static let lengthByteCount = 4

  /// The largest permitted size of a record in bytes, without its length field.
  private let byteLimit: Int
  private var waiting: [UInt8] = []

  init(byteLimit: Int) { self.byteLimit = byteLimit }

  /// - Parameter record: called with each complete record, without its length
  mutating func take(
    _ piece: ArraySlice<UInt8>, _ record: (ArraySlice<UInt8>) throws(MalformedBrokerRecord) -> Void
  ) throws(MalformedBrokerRecord) {
    waiting += piece
    var rest = waiting[...]
    while rest.count >= BrokerRecords.lengthByteCount {
      let length = rest.prefix(BrokerRecords.lengthByteCount).reversed().reduce(0) { $0 << 8 | Int($1) }
      guard length > 0, length <= byteLimit else { throw MalformedBrokerRecord() }
      let body = rest.dropFirst(BrokerRecords.lengthByteCount)
      guard body.count >= length else { break }
      try record(body.prefix(length))
      rest = body.dropFirst(length)
    }
    waiting = Array(rest)
  }
}

/// A message from a hub to its `BrokerProcess`.
enum BrokerOrder: Equatable, Sendable {
  /// Connect. This is the first order, and is sent once.
  case connect(BrokerAccess)
  /// Publish a message at QoS 1. The report about the message has the same number.
  case publish(number: UInt32, Outbox.Message)
  /// Disconnect so that the broker publishes the will, and end.
  case leave

  /// The maximum length of an order in bytes: that of the longest message, plus room for its topic and flags. An order
  /// with the access to a broker has the same limit.
  static let byteLimit = BrokerProcess.longestMessage + 1 << 18

  var bytes: [UInt8] {
    switch self {
    case .connect(let access):
      var record = BrokerRecord(1)
      access.write(to: &record)
      return record.bytes
    case .publish(let number, let message):
      var record = BrokerRecord(2)
      record.add(number)
      record.add(message.topic)
      record.add(message.payload)
      record.add(message.isRetained)
      record.add(message.expirySeconds)
      record.add(message.isProbe)
      return record.bytes
    case .leave: return BrokerRecord(3).bytes
    }
  }

  /// - Parameter record: the record without its length
  init(_ record: ArraySlice<UInt8>) throws(MalformedBrokerRecord) {
    var fields = try BrokerFields(record)
    switch fields.kind {
    case 1: self = .connect(try BrokerAccess(from: &fields))
    case 2:
      let number = try fields.number()
      var message = Outbox.Message(topic: try fields.text(), payload: try fields.payload())
      message.isRetained = try fields.flag()
      message.expirySeconds = try fields.number()
      message.isProbe = try fields.flag()
      self = .publish(number: number, message)
    case 3: self = .leave
    default: throw MalformedBrokerRecord()
    }
    try fields.end()
  }
}

/// A message from a `BrokerProcess` to its hub. An attacker at the broker or on the line may control that process, so
/// the hub must tolerate any report at any time.
enum BrokerReport: Equatable, Sendable {
  /// A reason code of MQTT 5 (2.4) and its name.
  struct Reason: Equatable, Sendable {
    var code: UInt32
    var words: String

    /// The next step for the user if the broker refuses the connection for this reason; `nil` if none is known.
    var nextStep: String? {
      switch code {
      case 0x84: "use a broker with MQTT 5, for example mosquitto from version 1.6 on"
      case 0x85: "check which client identifiers the broker permits"
      case 0x86, 0x87: "check the user and the password, and which users the broker admits"
      case 0x8a: "ask the broker's administrator why it has banned this client"
      default: nil
      }
    }
  }

  /// The broker's answer to CONNECT; code 0 accepts. `byteLimit` is the longest packet that the broker accepts, or 0
  /// if the broker does not state it.
  case answered(Reason, byteLimit: UInt32)
  /// The broker's answer to a subscription; codes from 128 on refuse it.
  case subscribed(Reason)
  case received(topic: String, payload: [UInt8], isRetained: Bool, expirySeconds: UInt32?)
  /// The broker sent a message that is longer than the agreed maximum. The process dropped it.
  case leftOut(byteCount: UInt32)
  /// The broker's answer to a message; codes from 128 on refuse it.
  case acknowledged(number: UInt32, Reason)
  /// The library did not send a message, because the broker would refuse it.
  case unsent(number: UInt32, isTooLong: Bool, words: String)
  /// The broker ended the connection, with a reason.
  case closed(Reason)
  /// The connection is over or could not be made. This is the last report.
  case ended(words: String)

  /// The longest report without the payload, in bytes: a topic, which MQTT limits to 64 kB, or a text.
  static let overheadByteCount = 3 << 16

  var bytes: [UInt8] {
    var record = BrokerRecord(kind)
    switch self {
    case .answered(let reason, let byteLimit):
      record.add(reason)
      record.add(byteLimit)
    case .subscribed(let reason), .closed(let reason): record.add(reason)
    case .received(let topic, let payload, let isRetained, let expirySeconds):
      record.add(topic)
      record.add(payload)
      record.add(isRetained)
      record.add(expirySeconds != nil)
      if let expirySeconds { record.add(expirySeconds) }
    case .leftOut(let byteCount): record.add(byteCount)
    case .acknowledged(let number, let reason):
      record.add(number)
      record.add(reason)
    case .unsent(let number, let isTooLong, let words):
      record.add(number)
      record.add(isTooLong)
      record.add(words)
    case .ended(let words): record.add(words)
    }
    return record.bytes
  }

  private var kind: UInt8 {
    switch self {
    case .answered: 1
    case .subscribed: 2
    case .received: 3
    case .leftOut: 4
    case .acknowledged: 5
    case .unsent: 6
    case .closed: 7
    case .ended: 8
    }
  }

  /// - Parameter record: the record without its length
  init(_ record: ArraySlice<UInt8>) throws(MalformedBrokerRecord) {
    var fields = try BrokerFields(record)
    switch fields.kind {
    case 1: self = .answered(try Reason(from: &fields), byteLimit: try fields.number())
    case 2: self = .subscribed(try Reason(from: &fields))
    case 3:
      let (topic, payload) = (try fields.text(), try fields.payload())
      let isRetained = try fields.flag()
      let expirySeconds = try fields.flag() ? try fields.number() : nil
      self = .received(topic: topic, payload: payload, isRetained: isRetained, expirySeconds: expirySeconds)
    case 4: self = .leftOut(byteCount: try fields.number())
    case 5: self = .acknowledged(number: try fields.number(), try Reason(from: &fields))
    case 6:
      self = .unsent(number: try fields.number(), isTooLong: try fields.flag(), words: try fields.text())
    case 7: self = .closed(try Reason(from: &fields))
    case 8: self = .ended(words: try fields.text())
    default: throw MalformedBrokerRecord()
    }
    try fields.end()
  }
}

extension BrokerReport.Reason {
  fileprivate init(from fields: inout BrokerFields) throws(MalformedBrokerRecord) {
    code = try fields.number()
    words = try fields.text()
  }
}

extension BrokerRecord {
  fileprivate mutating func add(_ reason: BrokerReport.Reason) {
    add(reason.code)
    add(reason.words)
  }
}
