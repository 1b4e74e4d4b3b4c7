/// Cuts the bytes of a socket into records; the bytes may arrive in pieces of any size. It holds at most one record
/// and one piece.
struct BrokerRecords {
  private static let lengthByteCount = 4

  /// The longest record, without its length.
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
