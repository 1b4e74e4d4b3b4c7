/// Writes an MCAP file: messages collect in a chunk, whole chunks go to the sink, and the end tells where everything is.
///
/// What has reached the sink can be read or repaired even if nothing follows: a chunk with its indexes is one piece. Schemas and
/// channels are put into the chunk of the first message that needs them.
///
/// A message is copied into a buffer that is allocated once; while no channels are added and no message is larger than a chunk,
/// taking one allocates nothing. When the sink fails nothing is lost: the call throws without having taken its message, what was
/// taken before stays in the buffer, which does not grow beyond the chunk's size, and the next call tries again.
///
/// Times are in nanoseconds since an epoch of the caller's choice, 1970 as a rule.
public struct MCAPWriter<Sink: MCAPSink & ~Copyable>: ~Copyable {
  public var sink: Sink

  /// The bytes that the sink has taken.
  public private(set) var byteCount: UInt64 = 0
  /// The size of a chunk's records at which it ends. It stays what it is; Swift 6.2 starts no file in a value with a constant.
  public private(set) var chunkByteCount: Int

  private var chunk: ChunkBuilder
  /// `nil` if chunks are not compressed.
  private var compressor: ChunkCompressor?
  private var summary = MCAPSummary()
  private var crc = CRC32()
  /// Of the messages so far, by the channel's number.
  private var nextSequences: [UInt32] = [0]
  private var isFinished = false
  private var blocks: MCAPBlocks?
  /// How many bytes of the chunk's records fill blocks, those of the file before included; `nil` where they fill none.
  private var wholeBlocksEnd: Int?
  /// Of a sealed file the schemas and channels that the chunk before had first are at the beginning of this one as well, in so many
  /// bytes: whatever becomes of one of the two, what follows can be read.
  private var repeatedByteCount = 0
  /// The most that the file's end takes up for what is in the file so far.
  private var trailerByteCount = 261

  /// Writes the file's start.
  ///
  /// - Parameters:
  ///   - compression: of the chunks that become smaller by it; the others are written as they are
  ///   - chunkByteCount: a chunk ends before it is larger, uncompressed; only one with a single message may be. More means less
  ///     overhead, and more memory for who writes and who reads.
  ///   - blocks: of the disk that the file is on, and that each piece gets a seal; `nil` for neither
  /// - Throws: `missingLibrary` where this machine cannot compress so; what the sink throws
  public init(
    _ sink: consuming Sink, header: MCAPHeader = MCAPHeader(library: "SensorHub MCAP"),
    compression: MCAPCompression = .none, chunkByteCount: Int = 1 << 20, blocks: MCAPBlocks? = nil
  ) throws(MCAPError) {
    self.sink = sink
    self.blocks = blocks
    let chunkByteCount = max(1, min(chunkByteCount, 1 << 30))
    self.chunkByteCount = chunkByteCount
    chunk = ChunkBuilder(reserving: chunkByteCount)
    compressor = nil
    summary.statistics = MCAPStatistics()
    if case .zstd(let level) = compression {
      compressor = try ChunkCompressor(level: level, Zstandard.library)
      compressor?.reserve(chunkByteCount)
    }
    try begin(header)
  }

  private mutating func begin(_ header: MCAPHeader) throws(MCAPError) {
    try MCAPWriter.check("the header", header.profile.utf8.count, header.library.utf8.count)
    var bytes = Layout.magic
    header.append(to: &bytes)
    bytes += seal(behind: bytes)
    try MCAPWriter.hand(bytes, to: &sink, &byteCount, &crc)
  }

  /// The bytes of the chunk that has not ended yet.
  public var bufferedByteCount: Int { chunk.recordsByteCount }

  /// Messages that were taken, those among them that have not reached the sink yet.
  public var messageCount: UInt64 { handedMessageCount + chunk.counts.total }

  /// Messages that have reached the sink.
  public var handedMessageCount: UInt64 { summary.statistics?.messageCount ?? 0 }

  /// The earliest log time of those that have not; `nil` if there are none.
  public var bufferedSinceNanoseconds: UInt64? { chunk.counts.total > 0 ? chunk.counts.earliest : nil }

  /// The most that the file would have if it were finished now.
  public var finishedByteCount: UInt64 {
    // What is compressed is smaller, but its index has the compression's name.
    let name = compressor == nil ? 0 : ChunkCompressor.name.utf8.count
    let index = MCAPWriter.chunkIndexByteCount(chunk.counts.channels.count) + name
    let seal = blocks.map { Seal.byteCount + $0.byteCount / 4 } ?? 0
    return byteCount + UInt64(chunk.finishedByteCount + seal + index + trailerByteCount)
  }

  /// Adds a schema, and returns its number.
  public mutating func addSchema(name: String, encoding: String, data: [UInt8]) throws(MCAPError) -> UInt16 {
    guard !isFinished else { throw .finished }
    guard summary.schemas.count < UInt16.max else { throw .tooMany("schemas") }
    try MCAPWriter.check("schema \(name)", name.utf8.count, encoding.utf8.count, data.count)
    let schema = MCAPSchema(
      id: UInt16(summary.schemas.count + 1), name: name, encoding: encoding, data: data)
    summary.add(schema)
    let before = chunk.recordsByteCount
    chunk.append(schema)
    trailerByteCount += chunk.recordsByteCount - before
    return schema.id
  }

  /// Adds a channel, and returns its number.
  ///
  /// - Parameter schemaID: 0 for none
  public mutating func addChannel(
    topic: String, messageEncoding: String, schemaID: UInt16 = 0, metadata: [String: String] = [:]
  ) throws(MCAPError) -> UInt16 {
    guard !isFinished else { throw .finished }
    guard schemaID <= summary.schemas.count else { throw .unknown("schema", id: schemaID) }
    guard summary.channels.count < UInt16.max else { throw .tooMany("channels") }
    try MCAPWriter.check("channel \(topic)", topic.utf8.count, messageEncoding.utf8.count, byteCount(of: metadata))
    let channel = MCAPChannel(
      id: UInt16(summary.channels.count + 1), schemaID: schemaID, topic: topic, messageEncoding: messageEncoding,
      metadata: metadata)
    summary.add(channel)
    let before = chunk.recordsByteCount
    chunk.append(channel)
    // With its number of messages.
    trailerByteCount += chunk.recordsByteCount - before + 10
    nextSequences.append(0)
    return channel.id
  }

  /// Takes a message.
  ///
  /// - Parameters:
  ///   - data: copied before this returns
  ///   - publishTimeNanoseconds: when it was made; the log time unless it is known
  ///   - sequence: one more than the channel's message before unless the publisher counts them
  public mutating func append(
    _ data: UnsafeRawBufferPointer, channelID: UInt16, logTimeNanoseconds: UInt64,
    publishTimeNanoseconds: UInt64? = nil, sequence: UInt32? = nil
  ) throws(MCAPError) {
    guard !isFinished else { throw .finished }
    guard channelID > 0, Int(channelID) < nextSequences.count else { throw .unknown("channel", id: channelID) }
    let recordByteCount = Layout.prefixByteCount + Layout.messageHeaderByteCount + data.count
    if recordByteCount > chunkByteCount - chunk.recordsByteCount { try flush() }
    noteWholeBlocks(before: recordByteCount, of: channelID)
    let sequence = sequence ?? nextSequences[Int(channelID)]
    nextSequences[Int(channelID)] = sequence &+ 1
    chunk.appendMessage(
      data, channelID: channelID, sequence: sequence, logTimeNanoseconds: logTimeNanoseconds,
      publishTimeNanoseconds: publishTimeNanoseconds ?? logTimeNanoseconds)
  }

  /// Takes a message.
  public mutating func append(
    _ data: [UInt8], channelID: UInt16, logTimeNanoseconds: UInt64, publishTimeNanoseconds: UInt64? = nil,
    sequence: UInt32? = nil
  ) throws(MCAPError) {
    try append(
      MCAPMessage(
        channelID: channelID, sequence: sequence ?? nextSequence(of: channelID), logTimeNanoseconds: logTimeNanoseconds,
        publishTimeNanoseconds: publishTimeNanoseconds ?? logTimeNanoseconds, data: data[...]))
  }

  /// Takes a message as it is, of another file for instance.
  public mutating func append(_ message: MCAPMessage) throws(MCAPError) {
    try message.data.withUnsafeBufferPointer { (data) throws(MCAPError) in
      try append(
        UnsafeRawBufferPointer(data), channelID: message.channelID, logTimeNanoseconds: message.logTimeNanoseconds,
        publishTimeNanoseconds: message.publishTimeNanoseconds, sequence: message.sequence)
    }
  }

  /// Ends the chunk and hands it to the sink: what was taken so far can be read after a crash, once the sink has written it.
  public mutating func flush() throws(MCAPError) {
    // Schemas and channels alone wait for a message: there are readers that want one in every chunk.
    guard !isFinished, chunk.counts.total > 0 else { return }
    let index: MCAPChunkIndex
    do throws(MCAPError) {
      if let compressed = compressor?.finish(&chunk, at: byteCount) {
        index = compressed
        let seal = seal(behind: compressor?.bytes ?? [])
        compressor?.append(behind: seal)
        try MCAPWriter.hand(compressor?.bytes ?? [], to: &sink, &byteCount, &crc)
      } else {
        index = chunk.finish(at: byteCount)
        let seal = seal(behind: chunk.bytes)
        chunk.append(behind: seal)
        try MCAPWriter.hand(chunk.bytes, to: &sink, &byteCount, &crc)
      }
    } catch {
      chunk.reopen()
      throw error
    }
    summary.chunks.append(index)
    summary.statistics?.add(chunk.counts)
    trailerByteCount += MCAPWriter.chunkIndexByteCount(index.channels.count) + index.compression.utf8.count
    let definitions = blocks == nil ? [] : chunk.definitions(behind: repeatedByteCount)
    chunk.removeAll()
    chunk.join(definitions)
    repeatedByteCount = definitions.count
    wholeBlocksEnd = nil
  }

  /// As `flush`, but what would only begin another block is kept for the next time, if it is not too old for that.
  ///
  /// - Parameter leavingFrom: the earliest log time that may be kept
  public mutating func flushWholeBlocks(leavingFrom logTimeNanoseconds: UInt64) throws(MCAPError) {
    guard let end = wholeBlocksEnd,
      let earliest = chunk.earliestLogTimeNanoseconds(behind: end), earliest >= logTimeNanoseconds
    else { return try flush() }
    let rest = chunk.split(at: end)
    do {
      try flush()
    } catch {
      chunk.join(rest)
      throw error
    }
    chunk.join(rest)
  }

  /// A message follows; where it begins a block, those before it fill theirs.
  private mutating func noteWholeBlocks(before recordByteCount: Int, of channelID: UInt16) {
    // Where blocks end in a compressed chunk is known only once it is one.
    guard let blocks, compressor == nil, chunk.counts.total > 0 else { return }
    let end = byteCount + UInt64(chunk.finishedByteCount + Seal.byteCount)
    let index = chunk.counts[channelID] == 0 ? Layout.messageIndexByteCount : 0
    let next = end + UInt64(recordByteCount + index + Layout.messageIndexEntryByteCount)
    if blocks.isBoundary(between: end, and: next) { wholeBlocksEnd = chunk.recordsByteCount }
  }

  /// What belongs behind a piece.
  private func seal(behind bytes: [UInt8]) -> [UInt8] {
    guard let blocks else { return [] }
    var crc = crc
    bytes.withUnsafeBytes { crc.take($0) }
    return blocks.seal(at: byteCount + UInt64(bytes.count), crc: crc.value)
  }

  /// The index in the summary of a chunk with messages of so many channels.
  private static func chunkIndexByteCount(_ channelCount: Int) -> Int { 73 + 10 * channelCount }

  /// Ends the chunk and writes an attachment behind it.
  public mutating func add(_ attachment: MCAPAttachment) throws(MCAPError) {
    guard !isFinished else { throw .finished }
    try MCAPWriter.check("attachment \(attachment.name)", attachment.name.utf8.count, attachment.mediaType.utf8.count)
    try flush()
    var bytes: [UInt8] = []
    attachment.append(to: &bytes)
    let offset = byteCount
    let index = attachment.index(offset: offset, byteCount: UInt64(bytes.count))
    bytes += seal(behind: bytes)
    try MCAPWriter.hand(bytes, to: &sink, &byteCount, &crc)
    summary.attachments.append(index)
    trailerByteCount += 57 + attachment.name.utf8.count + attachment.mediaType.utf8.count
  }

  /// Ends the chunk and writes facts about the recording behind it.
  public mutating func add(_ metadata: MCAPMetadata) throws(MCAPError) {
    guard !isFinished else { throw .finished }
    try MCAPWriter.check("metadata \(metadata.name)", metadata.name.utf8.count, byteCount(of: metadata.entries))
    try flush()
    var bytes: [UInt8] = []
    metadata.append(to: &bytes)
    let index = MCAPMetadataIndex(offset: byteCount, byteCount: UInt64(bytes.count), name: metadata.name)
    bytes += seal(behind: bytes)
    try MCAPWriter.hand(bytes, to: &sink, &byteCount, &crc)
    summary.metadata.append(index)
    trailerByteCount += 29 + metadata.name.utf8.count
  }

  /// Ends the file. Nothing can be added from then on; a second time does nothing.
  ///
  /// The data section's checksum is written, though the format allows 0 for none: it is over bytes that are in the cache anyway,
  /// and a reader that goes through the whole file finds with it what no chunk's checksum covers.
  public mutating func finish() throws(MCAPError) {
    guard !isFinished else { return }
    try flush()
    if chunk.recordsByteCount > repeatedByteCount {
      // Channels without messages: the summary repeats what must have been before.
      try MCAPWriter.hand(Array(chunk.records), to: &sink, &byteCount, &crc)
      chunk.removeAll()
    }
    try MCAPWriter.hand(summary.trailer(at: byteCount, crc: crc.value), to: &sink, &byteCount, &crc)
    isFinished = true
  }

  private func nextSequence(of channelID: UInt16) -> UInt32 {
    Int(channelID) < nextSequences.count ? nextSequences[Int(channelID)] : 0
  }

  private func byteCount(of map: [String: String]) -> Int {
    map.reduce(0) { $0 + 8 + $1.key.utf8.count + $1.value.utf8.count }
  }

  /// Lengths of texts, maps and schemas have 32 bits.
  private static func check(_ what: String, _ byteCounts: Int...) throws(MCAPError) {
    for byteCount in byteCounts where UInt32(exactly: byteCount) == nil {
      throw .tooLarge(what, byteCount: UInt64(byteCount), limit: UInt64(UInt32.max))
    }
  }

  private static func hand(
    _ bytes: [UInt8], to sink: inout Sink, _ byteCount: inout UInt64, _ crc: inout CRC32
  ) throws(MCAPError) {
    try bytes.withUnsafeBufferPointer { (buffer) throws(MCAPError) in
      try sink.append(UnsafeRawBufferPointer(buffer))
    }
    byteCount += UInt64(bytes.count)
    bytes.withUnsafeBytes { crc.take($0) }
  }
}

extension MCAPWriter: Sendable where Sink: Sendable & ~Copyable {}
