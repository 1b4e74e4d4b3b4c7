/// Writes an MCAP file. Messages are collected in chunks, complete chunks go to the sink, and the end of the file
/// contains an index.
///
/// ```swift
/// var writer = try MCAPWriter(MCAPFileSink(path: "trip.mcap"))
/// let fix = try writer.addChannel(topic: "fix", messageEncoding: "json")
/// try writer.append(Array(#"{"latitude":48.1}"#.utf8), channelID: fix, logTimeNanoseconds: now)
/// try writer.finish()
/// ```
///
/// Data that has reached the sink can be read or repaired even if the file is never finished: a chunk and its indexes
/// are written as one piece. A schema or channel is written to the chunk that is being filled when you add it.
///
/// A message is copied into a buffer that is allocated once. Appending a message allocates nothing unless it ends a
/// chunk, a channel was added or the message is larger than a chunk. If the sink fails, no data is lost: the call
/// throws without accepting its message, earlier messages stay in the buffer, which does not grow beyond the size of a
/// chunk, and the next call tries again.
///
/// Times are in nanoseconds since an epoch that the caller chooses, usually 1970.
public struct MCAPWriter<Sink: MCAPSink & ~Copyable>: ~Copyable {
  public var sink: Sink

  /// The number of bytes that the sink has accepted.
  public private(set) var byteCount: UInt64 = 0
  /// The size of a chunk's records at which the chunk ends. It never changes, but Swift 6.2 cannot initialize a `let`
  /// here.
  public private(set) var chunkByteCount: Int

  private var chunk: ChunkBuilder
  /// `nil` if chunks are not compressed.
  private var compressor: ChunkCompressor?
  private var summary = MCAPSummary()
  private var crc = CRC32()
  /// The sequence number of the next message, by channel number.
  private var nextSequences: [UInt32] = [0]
  private var isFinished = false
  private var blocks: MCAPBlocks?
  /// The size of the chunk's records that fit into full blocks of the disk; `nil` if they fill no block.
  private var wholeBlocksEnd: Int?
  /// The size of the definitions repeated from the previous chunk. In a sealed file, each chunk begins with the
  /// schemas and channels that first appeared in the chunk before, so that losing either chunk leaves the following
  /// ones readable.
  private var repeatedByteCount = 0
  /// The largest size that the end of the file can have for the present contents.
  private var trailerByteCount = 261

  /// Writes the start of the file.
  ///
  /// - Parameters:
  ///   - compression: applied to each chunk that it makes smaller
  ///   - chunkByteCount: the largest size of a chunk's uncompressed records; only a chunk with a single message may
  ///     exceed it. Larger chunks have less overhead but need more memory in the writer and the reader.
  ///   - blocks: the block size of the disk; each piece then gets a seal. `nil` for neither alignment nor seals
  /// - Throws: `missingLibrary` if this machine lacks the compression, and the errors of the sink
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

  /// The size of the records in the chunk that has not ended yet.
  public var bufferedByteCount: Int { chunk.recordsByteCount }

  /// The number of accepted messages, including those that have not reached the sink.
  public var messageCount: UInt64 { handedMessageCount + chunk.counts.total }

  /// The number of messages that have reached the sink.
  public var handedMessageCount: UInt64 { summary.statistics?.messageCount ?? 0 }

  /// The earliest log time of the buffered messages; `nil` if there are none.
  public var bufferedSinceNanoseconds: UInt64? { chunk.counts.total > 0 ? chunk.counts.earliest : nil }

  /// An upper bound for the size of the file if it were finished now.
  public var finishedByteCount: UInt64 {
    // A compressed chunk is smaller, but its index contains the name of the compression.
    let name = compressor == nil ? 0 : ChunkCompressor.name.utf8.count
    let index = MCAPWriter.chunkIndexByteCount(chunk.counts.channels.count) + name
    let seal = blocks.map { Seal.byteCount + $0.byteCount / 4 } ?? 0
    return byteCount + UInt64(chunk.finishedByteCount + seal + index + trailerByteCount)
  }

  /// Adds a schema and returns its number.
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

  /// Adds a channel and returns its number.
  ///
  /// - Parameter schemaID: the number of the schema; 0 for none
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
    // The statistics also contain ten bytes per channel for its number of messages.
    trailerByteCount += chunk.recordsByteCount - before + 10
    nextSequences.append(0)
    return channel.id
  }

  /// Appends a message.
  ///
  /// - Parameters:
  ///   - data: the payload, copied before this returns
  ///   - publishTimeNanoseconds: when the message was created; by default the log time
  ///   - sequence: the publisher's own counter; by default one more than the previous message of the channel
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

  /// Appends a message whose payload is an array.
  public mutating func append(
    _ data: [UInt8], channelID: UInt16, logTimeNanoseconds: UInt64, publishTimeNanoseconds: UInt64? = nil,
    sequence: UInt32? = nil
  ) throws(MCAPError) {
    try append(
      MCAPMessage(
        channelID: channelID, sequence: sequence ?? nextSequence(of: channelID), logTimeNanoseconds: logTimeNanoseconds,
        publishTimeNanoseconds: publishTimeNanoseconds ?? logTimeNanoseconds, data: data[...]))
  }

  /// Appends a message with its own sequence number and times, for example from another file.
  public mutating func append(_ message: MCAPMessage) throws(MCAPError) {
    try message.data.withUnsafeBufferPointer { (data) throws(MCAPError) in
      try append(
        UnsafeRawBufferPointer(data), channelID: message.channelID, logTimeNanoseconds: message.logTimeNanoseconds,
        publishTimeNanoseconds: message.publishTimeNanoseconds, sequence: message.sequence)
    }
  }

  /// Ends the chunk and hands it to the sink. Everything appended until now survives a crash once the sink has written
  /// it.
  public mutating func flush() throws(MCAPError) {
    // A chunk with only schemas and channels is held back until it has a message: some readers expect one in every
    // chunk.
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

  /// Like `flush`, but keeps the messages after the last full block of the disk for the next call, unless they are too
  /// old.
  ///
  /// - Parameter logTimeNanoseconds: the earliest log time that may be kept; if a message is older, everything is flushed
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

  /// Called before a message is added. If the file with this message would reach into another disk block,
  /// `wholeBlocksEnd` moves to the end of the records before the message.
  private mutating func noteWholeBlocks(before recordByteCount: Int, of channelID: UInt16) {
    // The block boundaries of a compressed chunk are unknown until it is compressed.
    guard let blocks, compressor == nil, chunk.counts.total > 0 else { return }
    let end = byteCount + UInt64(chunk.finishedByteCount + Seal.byteCount)
    let index = chunk.counts[channelID] == 0 ? Layout.messageIndexByteCount : 0
    let next = end + UInt64(recordByteCount + index + Layout.messageIndexEntryByteCount)
    if blocks.isBoundary(between: end, and: next) { wholeBlocksEnd = chunk.recordsByteCount }
  }

  /// The seal that follows a piece.
  private func seal(behind bytes: [UInt8]) -> [UInt8] {
    guard let blocks else { return [] }
    var crc = crc
    bytes.withUnsafeBytes { crc.take($0) }
    return blocks.seal(at: byteCount + UInt64(bytes.count), crc: crc.value)
  }

  /// The size of a chunk index in the summary for a chunk with this number of channels.
  private static func chunkIndexByteCount(_ channelCount: Int) -> Int { 73 + 10 * channelCount }

  /// Ends the chunk and writes an attachment after it.
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

  /// Ends the chunk and writes a metadata record after it.
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

  /// Ends the file. Nothing can be added afterwards; a second call does nothing.
  ///
  /// The format allows a data section without a checksum, but the writer always adds one. It costs little, because the
  /// bytes are in the cache anyway, and a reader of the whole file needs it to verify the records outside chunks.
  public mutating func finish() throws(MCAPError) {
    guard !isFinished else { return }
    try flush()
    if chunk.recordsByteCount > repeatedByteCount {
      // The summary only repeats records of the data section, so schemas and channels without messages are written to
      // the data section first.
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

  /// Checks the lengths of texts, maps and schemas. The format stores them in 32 bits.
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
