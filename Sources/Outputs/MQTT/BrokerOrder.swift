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
