/// The fields of a chunk that precede its records.
struct ChunkHeader {
  var startTimeNanoseconds: UInt64
  var endTimeNanoseconds: UInt64
  var uncompressedByteCount: UInt64
  /// The checksum of the uncompressed records; 0 if there is none.
  var crc: UInt32
  var compression: String
  var recordsByteCount: UInt64

  init(_ fields: inout RecordReader) throws(MCAPError) {
    startTimeNanoseconds = try fields.integer()
    endTimeNanoseconds = try fields.integer()
    uncompressedByteCount = try fields.integer()
    crc = try fields.integer()
    compression = try fields.text()
    recordsByteCount = try fields.integer()
  }
}

/// A chunk's records in memory, decompressed and verified, or the records of a stretch of the data section outside
/// chunks.
struct LoadedChunk {
  let bytes: [UInt8]
  /// The position of the records in `bytes`.
  let records: Range<Int>
  /// The file offset of the chunk's content, or of the stretch.
  let offset: UInt64
  let header: ChunkHeader?
  private let location: RecordLocation

  /// Loads a chunk.
  ///
  /// - Parameters:
  ///   - content: the position of the chunk's content in the file
  ///   - limit: the maximum memory to use, in bytes; during decompression this includes the compressed and the
  ///     decompressed records
  init(
    _ source: some MCAPSource, _ content: Range<UInt64>, limit: Int,
    decompression: ChunkDecompression = .ofThisMachine
  ) throws(MCAPError) {
    offset = content.lowerBound
    let recordOffset = content.lowerBound - UInt64(Layout.prefixByteCount)
    let bytes = try source.content(content, "chunk", limit: limit)
    var fields = RecordReader(bytes, 0..<bytes.count, name: "chunk", offset: recordOffset)
    let header = try ChunkHeader(&fields)
    guard let count = Int(exactly: header.recordsByteCount) else { throw fields.malformed }
    let records = try fields.take(count)
    if header.compression.isEmpty {
      guard header.uncompressedByteCount == header.recordsByteCount else { throw fields.malformed }
      self.bytes = bytes
      self.records = records
      location = .bytesFrom(offset)
    } else {
      self.bytes = try decompression.records(
        header, bytes[records], limit: limit - bytes.count, recordOffset: recordOffset)
      self.records = 0..<self.bytes.count
      location = .chunk(recordOffset)
    }
    guard header.crc == 0 || header.crc == CRC32.of(self.bytes, self.records) else {
      throw .wrongChecksum("chunk", offset: recordOffset)
    }
    self.header = header
  }

  /// Loads records outside chunks.
  init(_ source: some MCAPSource, stretch: Range<UInt64>, limit: Int) throws(MCAPError) {
    offset = stretch.lowerBound
    bytes = try source.content(stretch, "records", limit: limit)
    records = 0..<bytes.count
    header = nil
    location = .bytesFrom(offset)
  }

  var sequence: RecordSequence { sequence(from: records.lowerBound) }

  /// The records that begin at or after a position in `bytes`.
  func sequence(from start: Int) -> RecordSequence { RecordSequence(bytes, start..<records.upperBound, location) }

  /// A reader for the record whose content is at `content` in `bytes`.
  func reader(_ name: String, content: Range<Int>) -> RecordReader {
    RecordReader(bytes, content, name: name, offset: location.offset(of: content.lowerBound))
  }
}

/// The unit in which a reader loads a file: a chunk, or a stretch of records outside chunks.
struct Part {
  var isChunk: Bool
  var offset: UInt64
  /// The size of all records of the stretch, or of the chunk's record.
  var byteCount: UInt64
  /// The size of a chunk's records after decompression, as stated in the file; 0 if they are not compressed.
  var decompressedByteCount: UInt64 = 0
  var startTimeNanoseconds: UInt64
  var endTimeNanoseconds: UInt64
  /// The channels with messages in this part; empty if unknown.
  var channelIDs: [UInt16]

  init(_ chunk: MCAPChunkIndex) {
    isChunk = true
    offset = chunk.offset
    byteCount = chunk.byteCount
    decompressedByteCount = chunk.compression.isEmpty ? 0 : chunk.uncompressedByteCount
    startTimeNanoseconds = chunk.startTimeNanoseconds
    endTimeNanoseconds = chunk.endTimeNanoseconds
    channelIDs = chunk.channels.map(\.channelID)
  }

  init(stretchAt offset: UInt64) {
    isChunk = false
    self.offset = offset
    byteCount = 0
    startTimeNanoseconds = 0
    endTimeNanoseconds = 0
    channelIDs = []
  }

  /// - Parameter limit: the maximum memory to use while loading, in bytes
  func load(_ source: some MCAPSource, limit: Int) throws(MCAPError) -> LoadedChunk {
    guard isChunk else { return try LoadedChunk(source, stretch: offset..<offset + byteCount, limit: limit) }
    let record = try source.recordPrefix(at: offset)
    guard record.opcode == Opcode.chunk else { throw .malformed("chunk", offset: offset) }
    return try LoadedChunk(source, record.content, limit: limit)
  }
}
