/// Collects the records of one chunk, then adds the chunk's header and its message indexes.
///
/// The buffer has the layout of the chunk in the file, so each message is copied only once. The message indexes are
/// derived from the records when the chunk ends; until then they cost nothing. The buffer is reused for the next chunk.
struct ChunkBuilder {
  /// The chunk's record up to now, uncompressed. Its header is zeros until `finish`. After `addMessageIndexes`, the
  /// message indexes follow.
  private(set) var bytes: [UInt8] = []
  private(set) var counts = MessageCounts()
  /// Where the next message index entry of a channel goes in `bytes`, by channel number.
  private var cursors: [Int] = []
  /// The end of the records, where the message indexes begin.
  private var recordsEnd = ChunkBuilder.recordsStart

  private static let recordsStart = Layout.prefixByteCount + Layout.chunkHeaderByteCount

  init(reserving byteCount: Int) {
    bytes.reserveCapacity(ChunkBuilder.recordsStart + byteCount)
    removeAll()
  }

  var recordsByteCount: Int { recordsEnd - ChunkBuilder.recordsStart }
  var isEmpty: Bool { recordsByteCount == 0 }
  var records: ArraySlice<UInt8> { bytes[ChunkBuilder.recordsStart..<recordsEnd] }
  /// The message indexes that `addMessageIndexes` has appended, followed by the bytes that `append(behind:)` has
  /// appended.
  var messageIndexes: ArraySlice<UInt8> { bytes[recordsEnd...] }
  /// The size of the chunk's record and its message indexes, uncompressed.
  var finishedByteCount: Int {
    recordsEnd + counts.channels.count * Layout.messageIndexByteCount
      + Int(counts.total) * Layout.messageIndexEntryByteCount
  }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    bytes.append(contentsOf: repeatElement(0, count: ChunkBuilder.recordsStart))
    recordsEnd = bytes.count
    counts.removeAll()
  }

  /// Removes the message indexes and everything after them, so that the chunk can grow again.
  mutating func reopen() { bytes.removeLast(bytes.count - recordsEnd) }

  /// Appends bytes that follow the chunk's message indexes. Call it after `finish`.
  mutating func append(behind bytes: [UInt8]) { self.bytes += bytes }

  /// The earliest log time of the messages after the first `count` bytes of records; `nil` if there are no messages.
  func earliestLogTimeNanoseconds(behind count: Int) -> UInt64? {
    var earliest: UInt64?
    forEachMessage(behind: count) { _, time in earliest = min(earliest ?? time, time) }
    return earliest
  }

  /// Removes the records after the first `count` bytes, and returns them.
  mutating func split(at count: Int) -> [UInt8] {
    let start = ChunkBuilder.recordsStart + count
    let rest = Array(bytes[start..<recordsEnd])
    bytes.removeLast(bytes.count - start)
    recordsEnd = start
    recount()
    return rest
  }

  /// Appends records that `split` has removed.
  mutating func join(_ records: [UInt8]) {
    bytes += records
    recordsEnd = bytes.count
    recount()
  }

  /// The schemas and channels in the records after the first `count` bytes.
  func definitions(behind count: Int) -> [UInt8] {
    var definitions: [UInt8] = []
    forEachRecord(behind: count) { record in
      let opcode = bytes[record.lowerBound]
      if opcode == Opcode.schema || opcode == Opcode.channel { definitions += bytes[record] }
    }
    return definitions
  }

  private mutating func recount() {
    var counts = self.counts
    counts.removeAll()
    forEachMessage(behind: 0) { channelID, time in counts.add(channelID, logTimeNanoseconds: time) }
    self.counts = counts
  }

  private func forEachMessage(behind count: Int, _ body: (_ channelID: UInt16, _ logTimeNanoseconds: UInt64) -> Void) {
    bytes.withUnsafeBytes { bytes in
      forEachRecord(behind: count) { record in
        guard bytes[record.lowerBound] == Opcode.message else { return }
        let content = record.lowerBound + Layout.prefixByteCount
        body(
          UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: content, as: UInt16.self)),
          UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: content + 6, as: UInt64.self)))
      }
    }
  }

  /// Calls `body` with the range of each record after the first `count` bytes of records. The builder wrote the records
  /// itself or received them parsed, so they need no validation.
  private func forEachRecord(behind count: Int, _ body: (Range<Int>) -> Void) {
    var position = ChunkBuilder.recordsStart + count
    while position < recordsEnd {
      let length = bytes.withUnsafeBytes {
        UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: position + 1, as: UInt64.self))
      }
      let end = position + Layout.prefixByteCount + Int(length)
      body(position..<end)
      position = end
    }
  }

  mutating func append(_ schema: MCAPSchema) {
    schema.append(to: &bytes)
    recordsEnd = bytes.count
  }

  mutating func append(_ channel: MCAPChannel) {
    channel.append(to: &bytes)
    recordsEnd = bytes.count
  }

  mutating func appendMessage(
    _ data: UnsafeRawBufferPointer, channelID: UInt16, sequence: UInt32, logTimeNanoseconds: UInt64,
    publishTimeNanoseconds: UInt64
  ) {
    bytes.append(Opcode.message)
    bytes.append(littleEndian: UInt64(Layout.messageHeaderByteCount + data.count))
    bytes.append(littleEndian: channelID)
    bytes.append(littleEndian: sequence)
    bytes.append(littleEndian: logTimeNanoseconds)
    bytes.append(littleEndian: publishTimeNanoseconds)
    bytes.append(contentsOf: data)
    recordsEnd = bytes.count
    counts.add(channelID, logTimeNanoseconds: logTimeNanoseconds)
  }

  /// Appends a complete record, and counts it if it is a message.
  mutating func append(record: ArraySlice<UInt8>, message: MCAPMessage?) {
    bytes.append(contentsOf: record)
    recordsEnd = bytes.count
    if let message { counts.add(message.channelID, logTimeNanoseconds: message.logTimeNanoseconds) }
  }

  /// Fills in the chunk's header and appends the message indexes.
  ///
  /// - Parameter offset: the file offset at which the chunk will begin
  mutating func finish(at offset: UInt64) -> MCAPChunkIndex {
    let layout = ChunkLayout(compression: "", recordsByteCount: recordsByteCount)
    writeHeader(layout, to: &bytes)
    return addMessageIndexes(to: layout, at: offset)
  }

  /// Fills in a chunk's header. The records that follow it may be compressed.
  func writeHeader(_ layout: ChunkLayout, to bytes: inout [UInt8]) {
    bytes[0] = Opcode.chunk
    bytes.store(littleEndian: UInt64(layout.byteCount - Layout.prefixByteCount), at: 1)
    bytes.store(littleEndian: counts.earliest, at: 9)
    bytes.store(littleEndian: counts.latest, at: 17)
    bytes.store(littleEndian: UInt64(recordsByteCount), at: 25)
    bytes.store(littleEndian: CRC32.of(self.bytes, ChunkBuilder.recordsStart..<recordsEnd), at: 33)
    bytes.store(littleEndian: UInt32(layout.compression.utf8.count), at: 37)
    var end = 41
    for byte in layout.compression.utf8 {
      bytes[end] = byte
      end += 1
    }
    bytes.store(littleEndian: UInt64(layout.recordsByteCount), at: end)
  }

  /// Appends the message indexes to the records. They contain offsets into the uncompressed records, so they do not
  /// depend on the compression.
  ///
  /// - Parameters:
  ///   - layout: the form of the chunk in the file
  ///   - offset: the file offset at which the chunk begins
  mutating func addMessageIndexes(to layout: ChunkLayout, at offset: UInt64) -> MCAPChunkIndex {
    let channels = appendMessageIndexes(at: offset + UInt64(layout.byteCount))
    return MCAPChunkIndex(
      startTimeNanoseconds: counts.earliest, endTimeNanoseconds: counts.latest, offset: offset,
      byteCount: UInt64(layout.byteCount), channels: channels, messageIndexByteCount: UInt64(messageIndexes.count),
      compression: layout.compression, compressedByteCount: UInt64(layout.recordsByteCount),
      uncompressedByteCount: UInt64(recordsByteCount))
  }

  /// - Parameter offset: the file offset at which the chunk's record ends
  private mutating func appendMessageIndexes(at offset: UInt64) -> [MCAPChunkIndex.ChannelOffset] {
    var channels: [MCAPChunkIndex.ChannelOffset] = []
    channels.reserveCapacity(counts.channels.count)
    for channelID in counts.channels.sorted() {
      let index = Int(channelID)
      if index >= cursors.count { cursors.append(contentsOf: repeatElement(0, count: index + 1 - cursors.count)) }
      channels.append(MCAPChunkIndex.ChannelOffset(channelID: channelID, offset: offset + UInt64(messageIndexes.count)))
      let entriesByteCount = Int(counts[channelID]) * Layout.messageIndexEntryByteCount
      let start = bytes.beginRecord(Opcode.messageIndex)
      bytes.append(littleEndian: channelID)
      bytes.append(littleEndian: UInt32(truncatingIfNeeded: entriesByteCount))
      cursors[index] = bytes.count
      bytes.append(contentsOf: repeatElement(0, count: entriesByteCount))
      bytes.endRecord(start)
    }
    let records = ChunkBuilder.recordsStart..<recordsEnd
    bytes.withUnsafeMutableBytes { bytes in
      var position = records.lowerBound
      while position < records.upperBound {
        let length = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position + 1, as: UInt64.self))
        let content = position + Layout.prefixByteCount
        if bytes[position] == Opcode.message {
          let channelID = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: content, as: UInt16.self))
          let logTime = bytes.loadUnaligned(fromByteOffset: content + 6, as: UInt64.self)
          let entry = cursors[Int(channelID)]
          bytes.storeBytes(of: logTime, toByteOffset: entry, as: UInt64.self)
          bytes.storeBytes(
            of: UInt64(position - records.lowerBound).littleEndian, toByteOffset: entry + 8, as: UInt64.self)
          cursors[Int(channelID)] = entry + Layout.messageIndexEntryByteCount
        }
        position = content + Int(length)
      }
    }
    return channels
  }
}

/// The form and size of a chunk's record in the file.
struct ChunkLayout {
  var compression: String
  /// The size of the records as stored in the file.
  var recordsByteCount: Int

  /// The size of the whole record, including opcode and length.
  var byteCount: Int {
    Layout.prefixByteCount + Layout.chunkHeaderByteCount + compression.utf8.count + recordsByteCount
  }
}

/// The number of messages of each channel in a chunk, and their time span. Counting allocates only for a channel
/// number higher than all before.
struct MessageCounts {
  /// The number of messages, by channel number.
  private var counts: [UInt64] = []
  /// The channels with messages, in the order of their first message.
  private(set) var channels: [UInt16] = []
  private(set) var total: UInt64 = 0
  /// The earliest and latest log time in nanoseconds; 0 if there are no messages.
  private(set) var earliest: UInt64 = 0
  private(set) var latest: UInt64 = 0

  subscript(channelID: UInt16) -> UInt64 { Int(channelID) < counts.count ? counts[Int(channelID)] : 0 }

  mutating func add(_ channelID: UInt16, logTimeNanoseconds: UInt64) {
    let index = Int(channelID)
    if index >= counts.count { counts.append(contentsOf: repeatElement(0, count: index + 1 - counts.count)) }
    if counts[index] == 0 { channels.append(channelID) }
    counts[index] += 1
    earliest = total == 0 ? logTimeNanoseconds : min(earliest, logTimeNanoseconds)
    latest = max(latest, logTimeNanoseconds)
    total += 1
  }

  mutating func removeAll() {
    for channelID in channels { counts[Int(channelID)] = 0 }
    channels.removeAll(keepingCapacity: true)
    total = 0
    earliest = 0
    latest = 0
  }
}
