import Glibc

/// A plan for repairing a file that was cut by a crash or a power failure: which bytes to keep, which to append, and
/// which damaged parts readers must skip.
///
/// A repair keeps complete records, and the messages of an uncompressed chunk up to the point at which the file ends.
/// It rebuilds the rest: a header that was cut, missing message indexes of the last chunk, the end of the data section,
/// the summary and the footer. A damaged piece or chunk does not affect the pieces after it. Zeros at the end of the
/// file are not treated as records; they occur in files whose size was set before the data was written.
public struct MCAPRepair: Equatable, Sendable {
  /// The number of bytes kept from the start of the file. They stay unchanged, except for the damaged parts among them.
  public var keptByteCount: UInt64
  /// The damaged parts. Each is overwritten with the header of an unknown record that spans the part.
  public var leftOut: [Range<UInt64>]
  /// The bytes that follow the kept ones. The file ends after them.
  public var appendedBytes: [UInt8]
  /// The number of messages in the repaired file.
  public var messageCount: UInt64
  /// The size in bytes of the data that the repaired file lacks, not counting zeros at the end. If it is much larger
  /// than a chunk, more than the end is damaged, and you should keep a copy of the file.
  public var lostByteCount: UInt64
  /// Whether the file needs to be repaired.
  public var isNeeded: Bool

  /// Plans the repair.
  ///
  /// - Parameters:
  ///   - isRecycled: whether the file was written over an older recording, so that complete chunks of the older one may
  ///     follow the cut. A chunk is then accepted only if its checksum is correct and its earliest message is not
  ///     earlier than that of the previous chunk. Records after the last such chunk, and a chunk that was cut, are
  ///     discarded. Until its first chunk with messages is on the disk, such a file still counts as the older
  ///     recording. Pass `false` for a file that was only appended to; less is then lost. Has no effect on a sealed
  ///     file (`MCAPBlocks`): exactly the data confirmed by its last seal belongs to it, and the data after that does
  ///     not count as lost.
  ///   - memoryLimitByteCount: the size above which a record is an error
  /// - Throws: if the file is not an MCAP file, cannot be read, has a damaged header, a record above the limit, or
  ///   chunks whose compression needs a missing library
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
    // Zeros within sealed data belong to the data.
    let zeros = own.isSealed ? own.byteCount : try MCAPRepair.zerosOffset(of: source)
    let scan = try DataSectionScan(
      own, trust: isRecycled ? .chunksInOrder : .wholeRecordsBefore(zeros: zeros), limit: limit,
      leavingOut: own.damaged)
    // A file that was cut within its header has no data after that. This file has more data, so its header is damaged
    // in another way, and discarding the rest would not repair it.
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
        // Channels without messages do not get a chunk, as in the writer.
        appended += builder.records
      } else {
        let index = builder.finish(at: kept + UInt64(appended.count))
        appended += builder.bytes
        summary.chunks.append(index)
        summary.statistics?.add(builder.counts)
      }
      lost -= min(lost, UInt64(recovered))
    }
    // With an index of the chunks, readers would not look for the messages outside chunks, so the summary gets no such
    // index.
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

  /// Repairs a file in place, and returns when the changes are on the disk. If the power fails during the repair, the
  /// file can be repaired again. No other program may write to the file.
  public static func repair(path: String, isRecycled: Bool) throws(MCAPError) -> MCAPRepair {
    try repair(MCAPFileSource(path: path, flags: O_RDWR), isRecycled: isRecycled)
  }

  /// Repairs a file that is open for reading and writing. Takes ownership of the descriptor.
  public static func repair(descriptor: Int32, path: String, isRecycled: Bool) throws(MCAPError) -> MCAPRepair {
    try repair(MCAPFileSource(path: path, descriptor: descriptor), isRecycled: isRecycled)
  }

  private static func repair(_ file: MCAPFileSource, isRecycled: Bool) throws(MCAPError) -> MCAPRepair {
    // A file with an end was not cut. Any damage in it is left in place, so that nothing is discarded.
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

  /// The header that a damaged part receives in the repaired file: a record of an application-defined kind that is as
  /// long as the part.
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

  /// The largest plausible size of a header.
  private static let largestHeaderByteCount: UInt64 = 4096

  /// The number of messages in a file that is complete and needs no repair; `nil` for any other file.
  private static func messageCount(ofWhole source: some MCAPSource, limit: Int) throws(MCAPError) -> UInt64? {
    let count = min(source.byteCount, UInt64(Layout.magic.count))
    guard try source.bytes(at: source.byteCount - count, count: Int(count)) == Layout.magic else { return nil }
    do {
      let reader = try MCAPReader(source, memoryLimitByteCount: limit)
      return reader.damage == nil ? reader.summary.statistics?.messageCount ?? 0 : nil
    } catch {
      // The attempt to repair the file reports the error.
      return nil
    }
  }

  /// The offset after which the file contains only zeros.
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

  /// Adds the complete records of a chunk that was cut to a builder, and its schemas and channels to the summary.
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

/// A view of a file as if it had been repaired. The file itself stays unchanged.
public struct RepairedSource<Base: MCAPSource>: MCAPSource {
  public let byteCount: UInt64
  private let base: Base
  private let keptByteCount: UInt64
  /// The bytes that replace parts of the base, or extend it.
  private let replacements: [(offset: UInt64, bytes: [UInt8])]

  public init(_ base: Base, _ repair: MCAPRepair) {
    self.init(base, keeping: repair.keptByteCount, leavingOut: repair.leftOut, appending: repair.appendedBytes)
  }

  init(_ base: Base, keeping count: UInt64, leavingOut parts: [Range<UInt64>], appending bytes: [UInt8]) {
    self.base = base
    keptByteCount = count
    byteCount = count + UInt64(bytes.count)
    replacements = parts.map { ($0.lowerBound, MCAPRepair.stepOver($0)) } + [(count, bytes)]
  }

  public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(MCAPError) {
    guard let end = offset.adding(UInt64(buffer.count)), end <= byteCount else { throw .cut(offset: offset) }
    if offset < keptByteCount {
      let kept = Int(min(end, keptByteCount) - offset)
      try base.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<kept]))
    }
    for (start, bytes) in replacements {
      let common = (start..<start + UInt64(bytes.count)).clamped(to: offset..<end)
      guard !common.isEmpty else { continue }
      let place = Int(common.lowerBound - offset)..<Int(common.upperBound - offset)
      UnsafeMutableRawBufferPointer(rebasing: buffer[place]).copyBytes(
        from: bytes[Int(common.lowerBound - start)..<Int(common.upperBound - start)])
    }
  }
}

extension RepairedSource: Sendable where Base: Sendable {}
