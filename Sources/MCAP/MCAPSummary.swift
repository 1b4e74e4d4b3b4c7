/// The contents of a file and their positions, from the file's last section or from a scan of the whole file.
public struct MCAPSummary: Equatable, Sendable {
  public var schemas: [UInt16: MCAPSchema] = [:]
  public var channels: [UInt16: MCAPChannel] = [:]
  public var statistics: MCAPStatistics?
  public var chunks: [MCAPChunkIndex] = []
  public var attachments: [MCAPAttachmentIndex] = []
  public var metadata: [MCAPMetadataIndex] = []

  public init() {}

  /// The channels whose topic is in `topics`.
  public func channelIDs(ofTopics topics: Set<String>) -> Set<UInt16> {
    Set(channels.values.lazy.filter { topics.contains($0.topic) }.map(\.id))
  }
}

extension MCAPSummary {
  /// Parses a summary section.
  init(_ bytes: [UInt8], _ range: Range<Int>, offset: UInt64) throws(MCAPError) {
    var records = RecordSequence(bytes, range, offset: offset)
    while let record = try records.next() {
      switch record.opcode {
      case Opcode.schema:
        var fields = records.reader("schema", record)
        add(try MCAPSchema(&fields, of: bytes))
      case Opcode.channel:
        var fields = records.reader("channel", record)
        add(try MCAPChannel(&fields))
      case Opcode.statistics:
        var fields = records.reader("statistics", record)
        statistics = try MCAPStatistics(&fields)
      case Opcode.chunkIndex:
        var fields = records.reader("chunk index", record)
        chunks.append(try MCAPChunkIndex(&fields))
      case Opcode.attachmentIndex:
        var fields = records.reader("attachment index", record)
        attachments.append(try MCAPAttachmentIndex(&fields))
      case Opcode.metadataIndex:
        var fields = records.reader("metadata index", record)
        metadata.append(try MCAPMetadataIndex(&fields))
      default: break
      }
    }
  }

  /// Whether the summary seems to cover the whole file. Some files have a summary that omits, for example, their
  /// channels. Messages outside chunks are never indexed, so a summary without chunks is complete only if the file has
  /// no messages.
  var isComplete: Bool {
    guard !chunks.isEmpty || statistics?.messageCount == 0 else { return false }
    if let statistics {
      guard statistics.channelCount == channels.count, statistics.schemaCount <= schemas.count,
        statistics.chunkCount == chunks.count, statistics.attachmentCount == attachments.count,
        statistics.metadataCount == metadata.count
      else { return false }
    }
    // Messages need a channel, so a summary with chunks and without channels is incomplete.
    if !chunks.isEmpty, channels.isEmpty { return false }
    return chunks.allSatisfy { $0.channels.allSatisfy { channels[$0.channelID] != nil } }
      && channels.values.allSatisfy { $0.schemaID == 0 || schemas[$0.schemaID] != nil }
  }

  mutating func add(_ schema: MCAPSchema) {
    // The specification says to ignore a schema with the number 0.
    if schema.id != 0 { schemas[schema.id] = schema }
  }

  mutating func add(_ channel: MCAPChannel) { channels[channel.id] = channel }

  /// All bytes after the data section's last record: the end of the data section, the summary, the summary offsets,
  /// the footer and the magic bytes.
  ///
  /// - Parameters:
  ///   - offset: the length of the data section from the start of the file
  ///   - crc: the checksum of all preceding bytes; 0 for none
  func trailer(at offset: UInt64, crc: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    let dataEnd = bytes.beginRecord(Opcode.dataEnd)
    bytes.append(littleEndian: crc)
    bytes.endRecord(dataEnd)

    let summaryStart = bytes.count
    var groups: [(opcode: UInt8, range: Range<Int>)] = []
    func close(_ opcode: UInt8, from start: Int) {
      if bytes.count > start { groups.append((opcode, start..<bytes.count)) }
    }
    var start = bytes.count
    for id in schemas.keys.sorted() { schemas[id]?.append(to: &bytes) }
    close(Opcode.schema, from: start)
    start = bytes.count
    for id in channels.keys.sorted() { channels[id]?.append(to: &bytes) }
    close(Opcode.channel, from: start)
    start = bytes.count
    counted.append(to: &bytes)
    close(Opcode.statistics, from: start)
    start = bytes.count
    for chunk in chunks { chunk.append(to: &bytes) }
    close(Opcode.chunkIndex, from: start)
    start = bytes.count
    for attachment in attachments { attachment.append(to: &bytes) }
    close(Opcode.attachmentIndex, from: start)
    start = bytes.count
    for entry in metadata { entry.append(to: &bytes) }
    close(Opcode.metadataIndex, from: start)

    let offsetsStart = bytes.count
    for group in groups {
      let start = bytes.beginRecord(Opcode.summaryOffset)
      bytes.append(group.opcode)
      bytes.append(littleEndian: offset + UInt64(group.range.lowerBound))
      bytes.append(littleEndian: UInt64(group.range.count))
      bytes.endRecord(start)
    }
    bytes.append(Opcode.footer)
    bytes.append(littleEndian: UInt64(Layout.footerByteCount))
    bytes.append(littleEndian: offset + UInt64(summaryStart))
    bytes.append(littleEndian: offset + UInt64(offsetsStart))
    // The checksum covers the summary, its offsets and the footer up to here, including opcode and length.
    bytes.append(littleEndian: CRC32.of(bytes, summaryStart..<bytes.count))
    bytes.append(contentsOf: Layout.magic)
    return bytes
  }

  /// The statistics, with the counts of all other records added.
  var counted: MCAPStatistics {
    var counted = statistics ?? MCAPStatistics()
    counted.schemaCount = UInt16(truncatingIfNeeded: schemas.count)
    counted.channelCount = UInt32(truncatingIfNeeded: channels.count)
    counted.attachmentCount = UInt32(truncatingIfNeeded: attachments.count)
    counted.metadataCount = UInt32(truncatingIfNeeded: metadata.count)
    counted.chunkCount = UInt32(truncatingIfNeeded: chunks.count)
    return counted
  }
}

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

/// The position of a chunk in the file, and a summary of its contents.
public struct MCAPChunkIndex: Equatable, Sendable {
  /// The position of the message index for one channel of the chunk.
  public struct ChannelOffset: Equatable, Sendable {
    public var channelID: UInt16
    /// The file offset of the message index record.
    public var offset: UInt64
  }

  /// The earliest and latest log time in the chunk; both 0 if it has no messages.
  public var startTimeNanoseconds: UInt64
  public var endTimeNanoseconds: UInt64
  /// The file offset of the chunk's record.
  public var offset: UInt64
  /// The size of the chunk's whole record.
  public var byteCount: UInt64
  /// The message indexes by channel, in ascending order. Empty if it is unknown which channels have messages in the
  /// chunk.
  public var channels: [ChannelOffset]
  /// The size of all message index records that follow the chunk.
  public var messageIndexByteCount: UInt64
  /// The name of the compression; empty for none.
  public var compression: String
  /// The size of the records as stored in the file.
  public var compressedByteCount: UInt64
  /// The size of the records after decompression.
  public var uncompressedByteCount: UInt64
}

extension MCAPChunkIndex {
  init(_ fields: inout RecordReader) throws(MCAPError) {
    startTimeNanoseconds = try fields.integer()
    endTimeNanoseconds = try fields.integer()
    offset = try fields.integer()
    byteCount = try fields.integer()
    var entries = try fields.nested()
    channels = []
    while entries.remaining > 0 {
      channels.append(ChannelOffset(channelID: try entries.integer(), offset: try entries.integer()))
    }
    messageIndexByteCount = try fields.integer()
    compression = try fields.text()
    compressedByteCount = try fields.integer()
    uncompressedByteCount = try fields.integer()
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.chunkIndex)
    bytes.append(littleEndian: startTimeNanoseconds)
    bytes.append(littleEndian: endTimeNanoseconds)
    bytes.append(littleEndian: offset)
    bytes.append(littleEndian: byteCount)
    // A channel number and an offset take ten bytes, and a file has at most 65,536 channels.
    bytes.append(littleEndian: UInt32(channels.count * 10))
    for channel in channels {
      bytes.append(littleEndian: channel.channelID)
      bytes.append(littleEndian: channel.offset)
    }
    bytes.append(littleEndian: messageIndexByteCount)
    bytes.append(prefixed: compression)
    bytes.append(littleEndian: compressedByteCount)
    bytes.append(littleEndian: uncompressedByteCount)
    bytes.endRecord(start)
  }
}
