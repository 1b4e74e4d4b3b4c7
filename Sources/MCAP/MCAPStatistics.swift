/// The numbers of records in a file by kind, and the time span of its messages.
public struct MCAPStatistics: Equatable, Sendable {
  public var messageCount: UInt64 = 0
  public var schemaCount: UInt16 = 0
  public var channelCount: UInt32 = 0
  public var attachmentCount: UInt32 = 0
  public var metadataCount: UInt32 = 0
  public var chunkCount: UInt32 = 0
  /// The earliest and latest log time; both 0 if there are no messages.
  public var startTimeNanoseconds: UInt64 = 0
  public var endTimeNanoseconds: UInt64 = 0
  /// The number of messages by channel; empty if the messages were not counted.
  public var channelMessageCounts: [UInt16: UInt64] = [:]

  public init() {}
}

extension MCAPStatistics {
  init(_ fields: inout RecordReader) throws(MCAPError) {
    messageCount = try fields.integer()
    schemaCount = try fields.integer()
    channelCount = try fields.integer()
    attachmentCount = try fields.integer()
    metadataCount = try fields.integer()
    chunkCount = try fields.integer()
    startTimeNanoseconds = try fields.integer()
    endTimeNanoseconds = try fields.integer()
    var entries = try fields.nested()
    while entries.remaining > 0 {
      let channelID = try entries.integer(UInt16.self)
      channelMessageCounts[channelID] = try entries.integer()
    }
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.statistics)
    bytes.append(littleEndian: messageCount)
    bytes.append(littleEndian: schemaCount)
    bytes.append(littleEndian: channelCount)
    bytes.append(littleEndian: attachmentCount)
    bytes.append(littleEndian: metadataCount)
    bytes.append(littleEndian: chunkCount)
    bytes.append(littleEndian: startTimeNanoseconds)
    bytes.append(littleEndian: endTimeNanoseconds)
    bytes.append(littleEndian: UInt32(channelMessageCounts.count * 10))
    for (channelID, count) in channelMessageCounts.sorted(by: { $0.key < $1.key }) {
      bytes.append(littleEndian: channelID)
      bytes.append(littleEndian: count)
    }
    bytes.endRecord(start)
  }

  /// Adds the messages of a chunk or stretch.
  mutating func add(_ counts: MessageCounts) {
    guard counts.total > 0 else { return }
    startTimeNanoseconds = messageCount == 0 ? counts.earliest : min(startTimeNanoseconds, counts.earliest)
    endTimeNanoseconds = max(endTimeNanoseconds, counts.latest)
    messageCount &+= counts.total
    for channelID in counts.channels { channelMessageCounts[channelID, default: 0] &+= counts[channelID] }
  }
}
