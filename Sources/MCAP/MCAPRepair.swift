import Glibc

/// How a file that was cut, by a crash or by a power cut, becomes whole again: keep its first bytes, put others behind them, and
/// have readers step over what is damaged in between.
///
/// Whole chunks are kept, and of a chunk that the file's end has cut the messages before that, unless it is compressed. All that
/// follows is made anew: the message indexes of the last chunk if some are missing, the data section's end, the summary, the
/// footer. A piece or a chunk that is damaged costs none of those behind it. Zeros at the file's end, as in a file that got its
/// size before its data, are no records.
public struct MCAPRepair: Equatable, Sendable {
  /// The bytes from the file's start that stay, but for the damaged parts among them as they are.
  public var keptByteCount: UInt64
  /// Damaged parts: each gets the start of a record that no reader knows, and that ends where the part does.
  public var leftOut: [Range<UInt64>]
  /// What belongs behind them; the file ends there.
  public var appendedBytes: [UInt8]
  /// Messages in the repaired file.
  public var messageCount: UInt64
  /// What was in the file and cannot be read in the repaired one, zeros at its end not counted. Much more than a chunk means that
  /// not only the end is damaged: better keep a copy.
  public var lostByteCount: UInt64
  /// Whether anything is to be done.
  public var isNeeded: Bool

  /// Finds out what has to be done.
  ///
  /// - Parameters:
  ///   - isRecycled: whether the file was written over an older recording, of which whole chunks may be left behind the cut.
  ///     Then a chunk counts only if it has a checksum that is right and does not begin earlier than the one before, what is
  ///     behind the last one is given up, and a chunk that was cut is lost. Until its first chunk with messages is
  ///     on the disk, such a file is still the older recording. A file that was only ever appended to has no need of that, and
  ///     loses less. Of a sealed file (`MCAPBlocks`) it does not matter: that has all that its last seal vouches for, and nothing
  ///     else. What is behind that may be an older recording's, and is not counted as lost.
  ///   - memoryLimitByteCount: larger chunks are an error
  /// - Throws: if it is no MCAP file, cannot be read, or has chunks that are compressed in a way for which the library
  ///   is missing
  public init(
    of source: some MCAPSource, isRecycled: Bool, memoryLimitByteCount: Int = 256 << 20
  ) throws(MCAPError) {
    let limit = source.memoryLimit(memoryLimitByteCount)
    if !isRecycled, let messageCount = try MCAPRepair.messageCount(ofWhole: source, limit: limit) {
      keptByteCount = source.byteCount
      leftOut = []
      appendedBytes = []
      self.messageCount = messageCount
      lostByteCount = 0
      isNeeded = false
      return
    }
    let own = try SealedSource(source)
    let isRecycled = isRecycled && !own.isSealed
    // What seals vouch for has no zeros but its own.
    let zeros = own.isSealed ? own.byteCount : try MCAPRepair.zerosOffset(of: source)
    let scan = try DataSectionScan(
      own, trust: isRecycled ? .chunksInOrder : .wholeRecordsBefore(zeros: zeros), limit: limit,
      leavingOut: own.damaged)
    // A header that was cut has nothing behind it: this is another kind of damage, and not to be mended by giving up the rest.
    if let damage = scan.damage, scan.header == nil, zeros > MCAPRepair.largestHeaderByteCount { throw damage }

    var summary = scan.summary
    var kept = scan.end
    var lost = max(zeros, kept) - kept
    var appended: [UInt8] = []
    if scan.header == nil {
      kept = min(kept, zeros)
      if kept < Layout.magic.count {
        kept = 0
        appended = Layout.magic
      }
      MCAPHeader(library: "SensorHub MCAP").append(to: &appended)
    }
    if scan.lacksMessageIndexes, let last = summary.chunks.indices.last {
      let chunk = summary.chunks[last]
      kept = chunk.offset + chunk.byteCount
      var builder = try MCAPRepair.rebuilt(chunk, of: source, limit: limit)
      let layout = ChunkLayout(compression: chunk.compression, recordsByteCount: Int(chunk.compressedByteCount))
      let index = builder.addMessageIndexes(to: layout, at: chunk.offset)
      if index.byteCount == chunk.byteCount {
        appended += builder.messageIndexes
        summary.chunks[last] = index
      }
    }
    if !isRecycled, let offset = scan.cutChunkOffset {
      var builder = ChunkBuilder(reserving: 0)
      try MCAPRepair.recover(from: source, at: offset, zeros: zeros, limit: limit, into: &builder, &summary)
      let recovered =
        builder.isEmpty ? 0 : ChunkLayout(compression: "", recordsByteCount: builder.recordsByteCount).byteCount
      if builder.counts.total == 0 {
        // Channels without messages are put in no chunk, as the writer does.
        appended += builder.records
      } else {
        let index = builder.finish(at: kept + UInt64(appended.count))
        appended += builder.bytes
        summary.chunks.append(index)
        summary.statistics?.add(builder.counts)
      }
      lost -= min(lost, UInt64(recovered))
    }
    // An index of the chunks would hide the messages outside of them.
    if scan.looseMessageCount > 0 { summary.chunks = [] }

    let data = RepairedSource(source, keeping: kept, leavingOut: scan.leftOut, appending: appended)
    appended += summary.trailer(at: data.byteCount, crc: try data.crc(0..<data.byteCount))

    keptByteCount = kept
    leftOut = scan.leftOut
    appendedBytes = appended
    messageCount = summary.statistics?.messageCount ?? 0
    let hasEnd = try MCAPRepair.ends(source, at: kept, with: appended)
    let stepsOver = try MCAPRepair.stepsOver(leftOut, source)
    isNeeded = !hasEnd || !stepsOver
    lostByteCount = isNeeded ? leftOut.byteCount + (scan.damage != nil ? lost : 0) : 0
  }

  private static func isEnded(_ source: some MCAPSource) throws(MCAPError) -> Bool {
    let count = Layout.magic.count
    guard source.byteCount >= UInt64(2 * count) else { return false }
    return try source.bytes(at: source.byteCount - UInt64(count), count: count) == Layout.magic
  }

  private init(leaving source: some MCAPSource) {
    keptByteCount = source.byteCount
    leftOut = []
    appendedBytes = []
    messageCount = 0
    lostByteCount = 0
    isNeeded = false
  }

  /// Repairs a file in place, and returns once that is on the disk. A power cut meanwhile leaves a file that can be repaired as
  /// before. Nobody else may write to it.
  public static func repair(path: String, isRecycled: Bool) throws(MCAPError) -> MCAPRepair {
    try repair(MCAPFileSource(path: path, flags: O_RDWR), isRecycled: isRecycled)
  }

  /// The same for a file that is open for reading and writing; takes over the descriptor.
  public static func repair(descriptor: Int32, path: String, isRecycled: Bool) throws(MCAPError) -> MCAPRepair {
    try repair(MCAPFileSource(path: path, descriptor: descriptor), isRecycled: isRecycled)
  }

  private static func repair(_ file: MCAPFileSource, isRecycled: Bool) throws(MCAPError) -> MCAPRepair {
    // One that was ended has not been cut: what is wrong in it is read as far as it goes, and nothing of it is given up.
    if !isRecycled, try MCAPRepair.isEnded(file) { return MCAPRepair(leaving: file) }
    let repair = try MCAPRepair(of: file, isRecycled: isRecycled)
    guard repair.isNeeded else { return repair }
    for part in repair.leftOut { try write(stepOver(part), to: file, at: part.lowerBound) }
    try write(repair.appendedBytes, to: file, at: repair.keptByteCount)
    let end = repair.keptByteCount + UInt64(repair.appendedBytes.count)
    guard ftruncate(file.descriptor, off_t(end)) == 0, fsync(file.descriptor) == 0 else {
      throw .system("repairing \(file.path)", errno: errno)
    }
    return repair
  }

  private static func write(_ bytes: [UInt8], to file: MCAPFileSource, at offset: UInt64) throws(MCAPError) {
    try bytes.withUnsafeBufferPointer { (bytes) throws(MCAPError) in
      try writeAll(UnsafeRawBufferPointer(bytes), to: file.descriptor, at: offset, file.path)
    }
  }

  /// What a damaged part begins with in the repaired file: a record of a kind that the format leaves to applications, as long as the
  /// part.
  static func stepOver(_ part: Range<UInt64>) -> [UInt8] {
    var bytes = [Opcode.damaged]
    bytes.append(littleEndian: part.byteCount - UInt64(Layout.prefixByteCount))
    return bytes
  }

  private static func stepsOver(_ parts: [Range<UInt64>], _ source: some MCAPSource) throws(MCAPError) -> Bool {
    for part in parts {
      let bytes = stepOver(part)
      guard try source.bytes(at: part.lowerBound, count: bytes.count) == bytes else { return false }
    }
    return true
  }

  /// Files with a longer one are nobody's.
  private static let largestHeaderByteCount: UInt64 = 4096

  /// The number of messages in a file that has its end and needs no repair; `nil` for another.
  private static func messageCount(ofWhole source: some MCAPSource, limit: Int) throws(MCAPError) -> UInt64? {
    let count = min(source.byteCount, UInt64(Layout.magic.count))
    guard try source.bytes(at: source.byteCount - count, count: Int(count)) == Layout.magic else { return nil }
    do {
      let reader = try MCAPReader(source, memoryLimitByteCount: limit)
      return reader.damage == nil ? reader.summary.statistics?.messageCount ?? 0 : nil
    } catch {
      // The repair says what is wrong.
      return nil
    }
  }

  /// Where zeros begin that last to the end of the file.
  private static func zerosOffset(of source: some MCAPSource) throws(MCAPError) -> UInt64 {
    var end = source.byteCount
    while end > 0 {
      let count = min(1 << 16, end)
      let bytes = try source.bytes(at: end - count, count: Int(count))
      if let last = bytes.lastIndex(where: { $0 != 0 }) { return end - count + UInt64(last) + 1 }
      end -= count
    }
    return 0
  }

  private static func rebuilt(
    _ index: MCAPChunkIndex, of source: some MCAPSource, limit: Int
  ) throws(MCAPError) -> ChunkBuilder {
    let chunk = try Part(index).load(source, limit: limit)
    var builder = ChunkBuilder(reserving: chunk.records.count)
    var records = chunk.sequence
    while let record = try records.next() {
      var message: MCAPMessage?
      if record.opcode == Opcode.message {
        var fields = records.reader("message", record)
        message = try MCAPMessage(&fields, of: chunk.bytes)
      }
      builder.append(record: chunk.bytes[record.start..<record.content.upperBound], message: message)
    }
    return builder
  }

  /// Takes the whole records of a chunk that was cut.
  private static func recover(
    from source: some MCAPSource, at offset: UInt64, zeros: UInt64, limit: Int, into builder: inout ChunkBuilder,
    _ summary: inout MCAPSummary
  ) throws(MCAPError) {
    guard let chunk = try CutChunk(source, at: offset, limit: limit) else { return }
    for record in chunk.wholeRecords(zeros: zeros, channelIDs: Set(summary.channels.keys)) {
      var message: MCAPMessage?
      switch record.content {
      case .schema(let schema): summary.add(schema)
      case .channel(let channel): summary.add(channel)
      case .message(let found): message = found
      }
      builder.append(record: chunk.bytes[record.range], message: message)
    }
  }

  private static func ends(_ source: some MCAPSource, at offset: UInt64, with bytes: [UInt8]) throws(MCAPError) -> Bool
  {
    guard offset.adding(UInt64(bytes.count)) == source.byteCount else { return false }
    return try source.bytes(at: offset, count: bytes.count) == bytes
  }
}
