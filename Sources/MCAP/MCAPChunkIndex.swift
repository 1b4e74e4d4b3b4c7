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
