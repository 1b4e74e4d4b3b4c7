/// A chunk that is incomplete because the file ends, or contains only zeros, before the chunk does. Without the whole
/// chunk its checksum cannot be verified. A record is therefore used only if its fields are consistent with the header
/// of the chunk and with the known channels.
struct CutChunk {
  struct Record {
    enum Content {
      case schema(MCAPSchema)
      case channel(MCAPChannel)
      case message(MCAPMessage)
    }

    var content: Content
    /// The record's position in the chunk's bytes, including the opcode.
    var range: Range<Int>
  }

  /// The bytes of the records that the file contains, at most `limit` of them.
  let bytes: [UInt8]
  private let header: ChunkHeader
  /// The file offset of the first byte in `bytes`.
  private let start: UInt64
  /// The end of the file.
  private let end: UInt64

  /// Returns `nil` for a chunk that is compressed or whose header is incomplete or damaged; nothing can be recovered
  /// from it.
  init?(_ source: some MCAPSource, at offset: UInt64, limit: Int) throws(MCAPError) {
    let headerByteCount = Layout.prefixByteCount + Layout.chunkHeaderByteCount
    start = offset + UInt64(headerByteCount)
    guard start <= source.byteCount else { return nil }
    let head = try source.bytes(at: offset, count: headerByteCount)
    var fields = RecordReader(head, 0..<head.count, name: "chunk", offset: offset)
    _ = try fields.take(1)
    let recordByteCount = try fields.integer(UInt64.self)
    guard let header = try? ChunkHeader(&fields), header.compression.isEmpty,
      header.recordsByteCount.adding(UInt64(Layout.chunkHeaderByteCount)) == recordByteCount,
      header.uncompressedByteCount == header.recordsByteCount
    else { return nil }
    self.header = header
    end = source.byteCount
    let available = min(source.byteCount - start, header.recordsByteCount)
    bytes = try source.bytes(at: start, count: Int(min(available, UInt64(limit))))
  }

  /// The complete records before the cut.
  ///
  /// - Parameters:
  ///   - zeros: the file offset after which the file contains only zeros
  ///   - channelIDs: the channels defined before this chunk
  func wholeRecords(zeros: UInt64, channelIDs: Set<UInt16>) -> [Record] {
    // If the file is long enough for the whole chunk, zeros have cut the chunk, wherever these zeros begin.
    let isCutByEnd = end - start < header.recordsByteCount
    var channelIDs = channelIDs
    var sequence = RecordSequence(bytes, 0..<bytes.count, offset: start)
    var whole: [Record] = []
    while true {
      let found: RecordSequence.Record?
      do {
        found = try sequence.next()
      } catch {
        // The bytes at this position should begin the record that was cut. If they cannot begin a record, they are
        // noise. The previous record may then have been completed by noise, so it is dropped too.
        let isBeforeZeros = start + UInt64(sequence.position) < zeros
        if isBeforeZeros, !mayBeginRecord(at: sequence.position) { whole = whole.dropLast() }
        return whole
      }
      guard let found else { return whole }
      let recordEnd = start + UInt64(found.content.upperBound)
      guard recordEnd <= zeros || isCutByEnd && recordEnd == end,
        let record = try? record(found, of: sequence)
      else { return whole }
      switch record.content {
      case .schema: break
      case .channel(let channel): channelIDs.insert(channel.id)
      case .message(let message):
        let times = min(header.startTimeNanoseconds, header.endTimeNanoseconds)...header.endTimeNanoseconds
        guard channelIDs.contains(message.channelID), times.contains(message.logTimeNanoseconds) else { return whole }
      }
      whole.append(record)
    }
  }

  private func record(_ found: RecordSequence.Record, of sequence: RecordSequence) throws(MCAPError) -> Record? {
    let content: Record.Content
    switch found.opcode {
    case Opcode.schema:
      var fields = sequence.reader("schema", found)
      content = .schema(try MCAPSchema(&fields, of: bytes))
    case Opcode.channel:
      var fields = sequence.reader("channel", found)
      content = .channel(try MCAPChannel(&fields))
    case Opcode.message:
      var fields = sequence.reader("message", found)
      content = .message(try MCAPMessage(&fields, of: bytes))
    default: return nil
    }
    return Record(content: content, range: found.start..<found.content.upperBound)
  }

  /// Whether the remaining bytes can be the beginning of a record that fits into the chunk.
  private func mayBeginRecord(at position: Int) -> Bool {
    var fields = RecordReader(bytes, position..<bytes.count, name: "record", offset: start)
    guard let opcode = try? fields.integer(UInt8.self), let length = try? fields.integer(UInt64.self) else {
      return [Opcode.schema, Opcode.channel, Opcode.message].contains(bytes[position])
    }
    let end = UInt64(fields.position).adding(length) ?? .max
    return opcode != 0 && end <= header.recordsByteCount
  }
}
