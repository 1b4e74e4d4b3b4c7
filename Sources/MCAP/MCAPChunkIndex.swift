/// Where a chunk lies, and what may be found in it.
public struct MCAPChunkIndex: Equatable, Sendable {
  /// Where the places of one channel's messages in the chunk are listed.
  public struct ChannelOffset: Equatable, Sendable {
    public var channelID: UInt16
    /// From the file's start to the message index record.
    public var offset: UInt64
  }

  /// The earliest and the latest log time in it; both 0 if it has no messages.
  public var startTimeNanoseconds: UInt64
  public var endTimeNanoseconds: UInt64
  /// From the file's start to the chunk's record.
  public var offset: UInt64
  /// Of the chunk's whole record.
  public var byteCount: UInt64
  /// By channel, in ascending order; empty if it is not known which channels have messages in the chunk.
  public var channels: [ChannelOffset]
  /// Of all message index records behind the chunk.
  public var messageIndexByteCount: UInt64
  /// How the records are compressed; empty for not at all.
  public var compression: String
  /// Of the records as they are in the file.
  public var compressedByteCount: UInt64
  /// Of the records themselves.
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
    // A channel's number and an offset take ten bytes, and there are no more than 65536 of them.
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
