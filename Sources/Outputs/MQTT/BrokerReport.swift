/// A message from a `BrokerProcess` to its hub. An attacker at the broker or on the line may control that process, so
/// the hub must tolerate any report at any time.
enum BrokerReport: Equatable, Sendable {
  /// A reason code of MQTT 5 (2.4) and its name.
  struct Reason: Equatable, Sendable {
    var code: UInt32
    var words: String
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
