/// Reads a file's data section from the start, lists its contents, and finds where it becomes unreadable. Leaves out
/// damaged parts that are followed by readable ones.
struct DataSectionScan<Source: MCAPSource> {
  /// Which records to accept.
  enum Trust {
    /// Every record that is complete and correct.
    case wholeRecords
    /// Every record that the zeros at the end of the file cannot have cut. `zeros` is the offset after which the file
    /// contains only zeros.
    case wholeRecordsBefore(zeros: UInt64)
    /// Chunks with a correct checksum whose earliest message is not earlier than that of the previous chunk, and the
    /// records between these chunks. Later records may belong to an older recording.
    case chunksInOrder

    var isForRepair: Bool { if case .wholeRecords = self { false } else { true } }
    var isOfOneRecording: Bool { if case .chunksInOrder = self { false } else { true } }
  }

  private(set) var header: MCAPHeader?
  private(set) var summary = MCAPSummary()
  /// The chunks, and the stretches of messages outside chunks, in file order.
  private(set) var parts: [Part] = []
  /// The file offset of the end of the last record that was accepted or left out.
  private(set) var end: UInt64 = 0
  /// The offset of the record that ends the data section, and the checksum in it; the checksum is 0 if there is none.
  /// `nil` if the scan has found no such record.
  private(set) var dataEnd: (offset: UInt64, crc: UInt32)?
  /// Why nothing after `end` is read; `nil` if the data section is complete.
  private(set) var damage: MCAPError?
  /// The offset of a chunk that begins at `end` and that is incomplete only because the file ends or zeros follow.
  private(set) var cutChunkOffset: UInt64?
  /// Whether the damage follows a chunk of which at least one message index is missing.
  private(set) var lacksMessageIndexes = false
  private(set) var looseMessageCount: UInt64 = 0
  /// The damaged parts that are followed by more of the recording.
  private(set) var leftOut: [Range<UInt64>] = []
  /// The error in the first of these parts; `nil` if there is none.
  private(set) var leftOutBecause: MCAPError?

  private let source: Source
  private let trust: Trust
  private let limit: Int
  private var headerEnd: UInt64 = 0
  private var counts = MessageCounts()
  /// The last chunk, as long as its message indexes may still follow.
  private var indexedChunk: LoadedChunk?
  /// Whether all message indexes of the last chunk are present.
  private var isLastChunkIndexed = true
  /// The file offset at which the message indexes of the last chunk end.
  private var messageIndexesEnd: UInt64 = 0
  /// Parts already known to be damaged, in file order.
  private let damaged: [Range<UInt64>]
  /// The state before the first record that was left out. It is kept until a later chunk with a correct checksum
  /// confirms that the data after the damage belongs to the recording. An array of at most one element, because a value
  /// cannot contain a value of its own type.
  private var doubtful: [DataSectionScan] = []

  /// The size in bytes of the pieces in which messages outside chunks are read.
  private static var stretchByteCount: UInt64 { 1 << 20 }

  /// - Parameters:
  ///   - limit: the size in bytes above which a record is an error
  ///   - damaged: parts to leave out, in file order, each from the start of one record to the start of another
  /// - Throws: `notMCAP`, `system`, `compressed` if the library for a chunk is missing, `tooLarge` when scanning for a
  ///   repair
  init(_ source: Source, trust: Trust, limit: Int, leavingOut damaged: [Range<UInt64>] = []) throws(MCAPError) {
    self.source = source
    self.trust = trust
    self.limit = limit
    self.damaged = damaged
    summary.statistics = MCAPStatistics()
    try readStart()
    try readRecords()
  }

  /// Continues an earlier scan of the same file, which has grown since then.
  init(
    _ source: Source, after before: MCAPScan, limit: Int, leavingOut damaged: [Range<UInt64>] = []
  ) throws(MCAPError) {
    self.source = source
    trust = .wholeRecords
    self.limit = limit
    self.damaged = damaged
    leftOut = before.leftOut
    leftOutBecause = before.leftOutBecause
    header = before.header
    summary = before.summary
    parts = before.parts
    end = before.end
    try readRecords()
  }

  private mutating func readRecords() throws(MCAPError) {
    while damage == nil {
      do {
        guard try readRecord() else { break }
      } catch {
        switch error {
        // Any other compression name is treated as damage.
        case .system, .compressed("zstd", _), .compressed("lz4", _): throw error
        // The record may be intact, so a repair must not discard it.
        case .tooLarge where trust.isForRepair: throw error
        default: damage = error
        }
      }
    }
    closeMessageIndexes()
    // No later chunk confirmed the data after the damage, so the records accepted since then are discarded.
    if let before = doubtful.first { self = before }
    guard damage != nil else { return }
    if !trust.isOfOneRecording { withdrawBehindLastChunk() }
    lacksMessageIndexes = !isLastChunkIndexed && end == messageIndexesEnd
  }

  private mutating func readStart() throws(MCAPError) {
    let magic = Layout.magic
    let count = min(source.byteCount, UInt64(magic.count))
    let start = try source.bytes(at: 0, count: Int(count))
    let known = min(zeros, count)
    guard start.prefix(Int(known)) == magic.prefix(Int(known)) else { throw .notMCAP }
    guard known == magic.count else {
      damage = .cut(offset: 0)
      return
    }
    end = UInt64(magic.count)
  }

  /// The offset after which the file contains only zeros.
  private var zeros: UInt64 {
    if case .wholeRecordsBefore(let zeros) = trust { zeros } else { source.byteCount }
  }

  /// Whether a record that ends at `end` is certainly complete. If it ends within the zeros that fill the rest of the
  /// file, its last bytes may not have been written.
  private func isWhole(_ end: UInt64) -> Bool { end <= zeros || end == source.byteCount }

  /// The damaged part that begins at an offset, found by bisection because there may be as many parts as records.
  private func damagedPiece(at offset: UInt64) -> Range<UInt64>? {
    var candidates = damaged[...]
    while let middle = candidates.indices.dropFirst(candidates.count / 2).first {
      let piece = candidates[middle]
      if piece.lowerBound == offset { return piece }
      candidates = piece.lowerBound < offset ? candidates[(middle + 1)...] : candidates[..<middle]
    }
    return nil
  }

  /// Reads the record at `end`. Returns `false` at the end of the data section.
  private mutating func readRecord() throws(MCAPError) -> Bool {
    let offset = end
    if let piece = damagedPiece(at: offset) {
      leaveOut(piece, because: .wrongChecksum("piece", offset: offset))
      return true
    }
    guard source.byteCount - offset >= UInt64(Layout.prefixByteCount) else { throw .cut(offset: offset) }
    let opcode = try source.bytes(at: offset, count: 1)[0]
    // No record has opcode 0, so these bytes are zeros of a file whose size was set before its data was written.
    guard opcode != 0 else { throw .cut(offset: offset) }
    let content: Range<UInt64>
    do {
      content = try source.recordPrefix(at: offset).content
    } catch {
      if opcode == Opcode.chunk { cutChunkOffset = offset }
      throw error
    }
    if header == nil {
      guard opcode == Opcode.header else { throw .malformed("header", offset: offset) }
    } else if opcode != Opcode.chunk, opcode != Opcode.header, !isWhole(content.upperBound) {
      throw .cut(offset: offset)
    }
    if opcode != Opcode.messageIndex { closeMessageIndexes() }
    do {
      guard try take(opcode, content) else { return false }
    } catch {
      try passBy(offset..<content.upperBound, error)
    }
    end = content.upperBound
    return true
  }

  /// Accepts a record, or ignores one of an unknown kind. Returns `false` at the end of the data section.
  private mutating func take(_ opcode: UInt8, _ content: Range<UInt64>) throws(MCAPError) -> Bool {
    switch opcode {
    case Opcode.header: try take(header: content)
    case Opcode.schema, Opcode.channel: try take(opcode, try source.content(content, "record", limit: limit), content)
    case Opcode.message: try take(message: content)
    case Opcode.chunk: try take(chunk: content)
    case Opcode.messageIndex:
      if let last = leftOut.last, last.upperBound == recordOffset(content) {
        // The message index belongs to a chunk that is left out.
        leftOut[leftOut.count - 1] = last.lowerBound..<content.upperBound
      } else {
        try noteMessageIndex(content)
      }
    case Opcode.attachment: try take(attachment: content)
    case Opcode.metadata: try take(metadata: content)
    case Opcode.dataEnd:
      try take(dataEnd: content)
      return false
    // This data section has no end record; the specification shows such files.
    case Opcode.footer where trust.isOfOneRecording: return false
    default: break
    }
    return true
  }

  /// Skips a record that is malformed, has a wrong checksum or names an unknown channel; throws any other error. The
  /// records after it remain doubtful until a later chunk with a correct checksum confirms them.
  private mutating func passBy(_ record: Range<UInt64>, _ error: MCAPError) throws(MCAPError) {
    switch error {
    case .wrongChecksum, .malformed, .unknown: break
    default: throw error
    }
    guard header != nil, trust.isOfOneRecording else { throw error }
    if doubtful.isEmpty {
      var before = self
      before.damage = error
      doubtful = [before]
    }
    cutChunkOffset = nil
    leaveOut(record, because: error)
  }

  private mutating func leaveOut(_ part: Range<UInt64>, because error: MCAPError) {
    leftOut.append(part)
    leftOutBecause = leftOutBecause ?? error
    end = part.upperBound
  }

  private func fields(_ content: Range<UInt64>, _ name: String) throws(MCAPError) -> RecordReader {
    let bytes = try source.content(content, name, limit: limit)
    return RecordReader(bytes, 0..<bytes.count, name: name, offset: recordOffset(content))
  }

  private func recordOffset(_ content: Range<UInt64>) -> UInt64 { content.lowerBound - UInt64(Layout.prefixByteCount) }

  private mutating func take(header content: Range<UInt64>) throws(MCAPError) {
    var fields = try fields(content, "header")
    guard header == nil else { throw fields.malformed }
    header = try MCAPHeader(&fields)
    headerEnd = content.upperBound
  }

  private mutating func take(_ opcode: UInt8, _ bytes: [UInt8], _ content: Range<UInt64>) throws(MCAPError) {
    let isSchema = opcode == Opcode.schema
    var fields = RecordReader(
      bytes, 0..<bytes.count, name: isSchema ? "schema" : "channel", offset: recordOffset(content))
    if isSchema {
      summary.add(try MCAPSchema(&fields, of: bytes))
    } else {
      summary.add(try MCAPChannel(&fields))
    }
  }

  private mutating func take(message content: Range<UInt64>) throws(MCAPError) {
    if !trust.isOfOneRecording { throw .malformed("message outside of chunks", offset: recordOffset(content)) }
    let start = try source.bytes(
      at: content.lowerBound,
      count: Int(min(UInt64(Layout.messageHeaderByteCount), content.upperBound - content.lowerBound)))
    var fields = RecordReader(start, 0..<start.count, name: "message", offset: recordOffset(content))
    let message = try MCAPMessage(&fields, of: start)
    guard summary.channels[message.channelID] != nil else { throw .unknown("channel", id: message.channelID) }
    let time = message.logTimeNanoseconds
    counts.removeAll()
    counts.add(message.channelID, logTimeNanoseconds: time)
    summary.statistics?.add(counts)
    looseMessageCount += 1

    var stretch: Part
    let offset = recordOffset(content)
    if let last = parts.last, !last.isChunk, last.offset + last.byteCount == offset,
      content.upperBound - last.offset <= Self.stretchByteCount
    {
      stretch = last
      parts.removeLast()
      stretch.startTimeNanoseconds = min(stretch.startTimeNanoseconds, time)
    } else {
      stretch = Part(stretchAt: offset)
      stretch.startTimeNanoseconds = time
    }
    stretch.endTimeNanoseconds = max(stretch.endTimeNanoseconds, time)
    stretch.byteCount = content.upperBound - stretch.offset
    parts.append(stretch)
  }

  private mutating func take(chunk content: Range<UInt64>) throws(MCAPError) {
    let chunk: LoadedChunk
    do {
      chunk = try LoadedChunk(source, content, limit: limit)
    } catch {
      if content.upperBound > zeros { cutChunkOffset = recordOffset(content) }
      throw error
    }
    guard let header = chunk.header else { return }
    // Without a checksum it is impossible to tell whether the zeros are part of the chunk.
    if header.crc == 0, content.upperBound > zeros {
      cutChunkOffset = recordOffset(content)
      throw .cut(offset: recordOffset(content))
    }
    var schemas: [MCAPSchema] = []
    var channels: [UInt16: MCAPChannel] = [:]
    counts.removeAll()
    var records = chunk.sequence
    while let record = try records.next() {
      switch record.opcode {
      case Opcode.schema:
        var fields = records.reader("schema", record)
        schemas.append(try MCAPSchema(&fields, of: chunk.bytes))
      case Opcode.channel:
        var fields = records.reader("channel", record)
        let channel = try MCAPChannel(&fields)
        channels[channel.id] = channel
      case Opcode.message:
        var fields = records.reader("message", record)
        let message = try MCAPMessage(&fields, of: chunk.bytes)
        guard summary.channels[message.channelID] != nil || channels[message.channelID] != nil else {
          throw .unknown("channel", id: message.channelID)
        }
        counts.add(message.channelID, logTimeNanoseconds: message.logTimeNanoseconds)
      default: break
      }
    }
    if !trust.isOfOneRecording, counts.total > 0 {
      let before = parts.last { !$0.channelIDs.isEmpty }
      // The checksum does not cover the times, so they are compared with the messages.
      guard header.startTimeNanoseconds == counts.earliest, header.endTimeNanoseconds == counts.latest,
        header.crc != 0, counts.earliest >= before?.startTimeNanoseconds ?? 0
      else {
        throw .malformed("chunk of an older recording", offset: recordOffset(content))
      }
    }
    for schema in schemas { summary.add(schema) }
    for channel in channels.values { summary.add(channel) }
    summary.statistics?.add(counts)
    let index = MCAPChunkIndex(
      startTimeNanoseconds: counts.earliest, endTimeNanoseconds: counts.latest, offset: recordOffset(content),
      byteCount: content.upperBound - recordOffset(content), channels: [], messageIndexByteCount: 0,
      compression: header.compression, compressedByteCount: header.recordsByteCount,
      uncompressedByteCount: UInt64(chunk.records.count))
    summary.chunks.append(index)
    var part = Part(index)
    part.channelIDs = counts.channels.sorted()
    parts.append(part)
    indexedChunk = chunk
    // A correct checksum confirms this position, and with it all records before it.
    if header.crc != 0 { doubtful = [] }
  }

  /// Notes the position of a message index of the last chunk. A damaged message index is ignored, because the chunk is
  /// still valid and has a checksum of its own.
  private mutating func noteMessageIndex(_ content: Range<UInt64>) throws(MCAPError) {
    do {
      try take(messageIndex: content)
    } catch {
      if case .system = error { throw error }
    }
  }

  /// Accepts a message index of the last chunk. Message indexes have no checksum, so each entry must point to a message
  /// with the channel and log time of the entry.
  private mutating func take(messageIndex content: Range<UInt64>) throws(MCAPError) {
    guard let chunk = indexedChunk, let last = summary.chunks.indices.last else { return }
    var fields = try fields(content, "message index")
    let channelID = try fields.integer(UInt16.self)
    var entries = try fields.nested()
    guard counts[channelID] == UInt64(entries.remaining / Layout.messageIndexEntryByteCount),
      !summary.chunks[last].channels.contains(where: { $0.channelID == channelID })
    else { throw fields.malformed }
    while entries.remaining > 0 {
      let time = try entries.integer(UInt64.self)
      guard let position = Int(exactly: try entries.integer(UInt64.self)), position < chunk.records.count else {
        throw fields.malformed
      }
      let start = chunk.records.lowerBound + position
      var records = chunk.sequence(from: start)
      guard let record = try records.next(), record.opcode == Opcode.message else { throw fields.malformed }
      var message = records.reader("message", record)
      let found = try MCAPMessage(&message, of: chunk.bytes)
      guard found.channelID == channelID, found.logTimeNanoseconds == time else { throw fields.malformed }
    }
    let offset = recordOffset(content)
    summary.chunks[last].channels.append(MCAPChunkIndex.ChannelOffset(channelID: channelID, offset: offset))
    summary.chunks[last].messageIndexByteCount += content.upperBound - offset
  }

  /// Ends the series of the last chunk's message indexes. If one is missing, all are discarded, and a reader looks
  /// into the chunk instead.
  private mutating func closeMessageIndexes() {
    guard indexedChunk != nil, let last = summary.chunks.indices.last else { return }
    indexedChunk = nil
    messageIndexesEnd = end
    isLastChunkIndexed = summary.chunks[last].channels.count == counts.channels.count
    if isLastChunkIndexed {
      summary.chunks[last].channels.sort { $0.channelID < $1.channelID }
    } else {
      summary.chunks[last].channels = []
      summary.chunks[last].messageIndexByteCount = 0
    }
  }

  /// Discards everything after the last chunk and its message indexes, because it may belong to an older recording.
  private mutating func withdrawBehindLastChunk() {
    guard header != nil else { return }
    // Without a chunk, only the header remains.
    let last = summary.chunks.last
    let vouched = last.map { $0.offset + $0.byteCount + $0.messageIndexByteCount } ?? headerEnd
    summary.attachments.removeAll { $0.offset >= vouched }
    summary.metadata.removeAll { $0.offset >= vouched }
    end = vouched
    messageIndexesEnd = vouched
  }

  private mutating func take(dataEnd content: Range<UInt64>) throws(MCAPError) {
    let offset = recordOffset(content)
    var fields = try fields(content, "data end")
    let crc = try fields.integer(UInt32.self)
    if !trust.isOfOneRecording {
      guard crc != 0, try source.crc(0..<offset) == crc else {
        throw .malformed("end of an older recording", offset: offset)
      }
    }
    dataEnd = (offset, crc)
  }

  private mutating func take(attachment content: Range<UInt64>) throws(MCAPError) {
    let offset = recordOffset(content)
    let (index, byteCount) = try MCAPAttachmentIndex.head(of: content, in: source, recordOffset: offset, limit: limit)
    let dataEnd = content.lowerBound + byteCount
    let checksum = try source.bytes(at: dataEnd, count: 4)
    var fields = RecordReader(checksum, 0..<4, name: "attachment", offset: offset)
    let crc = try fields.integer(UInt32.self)
    if crc != 0, try source.crc(content.lowerBound..<dataEnd) != crc {
      throw .wrongChecksum("attachment", offset: offset)
    }
    summary.attachments.append(index)
  }

  private mutating func take(metadata content: Range<UInt64>) throws(MCAPError) {
    var fields = try fields(content, "metadata")
    let offset = recordOffset(content)
    let metadata = try MCAPMetadata(&fields)
    summary.metadata.append(
      MCAPMetadataIndex(offset: offset, byteCount: content.upperBound - offset, name: metadata.name))
  }
}
