/// Reads an MCAP file. Uses the file's summary, or reads through the whole file once if the summary is missing,
/// incomplete or damaged.
///
/// ```swift
/// let reader = try MCAPReader(MCAPFileSource(path: "trip.mcap"))
/// var messages = reader.messages(channelIDs: reader.summary.channelIDs(ofTopics: ["fix"]))
/// while let message = try messages.next() { show(message) }
/// ```
///
/// The source is read in parts and never as a whole. Memory holds the summary, the current chunk and, in log-time
/// order, all chunks that overlap with it.
public struct MCAPReader<Source: MCAPSource> {
  public let source: Source
  public let header: MCAPHeader
  /// The file's summary, or one made by reading through the file.
  public let summary: MCAPSummary
  /// The damage of the file, for example that it was cut or that its summary is damaged; `nil` for an undamaged file.
  /// The intact parts of a damaged file can still be read.
  public let damage: MCAPError?
  /// Whether `summary` comes from the file.
  public let isIndexed: Bool
  /// The size in bytes of the damaged parts that are followed by readable ones. These parts are skipped. 0 if the file
  /// was not scanned.
  public let leftOutByteCount: UInt64
  /// The state from which a later scan of the growing file can continue; `nil` if the summary made a scan unnecessary.
  public let scan: MCAPScan?

  /// The memory limit in bytes.
  let limit: Int
  let parts: [Part]

  /// - Parameters:
  ///   - memoryLimitByteCount: the maximum memory for a record or for overlapping chunks; exceeding it is an error
  ///   - before: the scan of the same file when it was shorter; only data written since then is scanned
  /// - Throws: if the file is not an MCAP file, cannot be read, has no intact header, or has chunks that must be
  ///   decompressed to find its channels while the library is missing
  public init(
    _ source: Source, memoryLimitByteCount: Int = 256 << 20, after before: MCAPScan? = nil
  ) throws(MCAPError) {
    self.source = source
    limit = source.memoryLimit(memoryLimitByteCount)
    var damage: MCAPError?
    do {
      let header = try MCAPReader.header(of: source, limit: limit)
      if let summary = try MCAPReader.summary(of: source, limit: limit) {
        if summary.isComplete {
          self.header = header
          self.summary = summary
          self.damage = nil
          isIndexed = true
          leftOutByteCount = 0
          scan = nil
          parts = summary.chunks.map(Part.init)
          return
        }
      }
    } catch {
      switch error {
      case .notMCAP, .system: throw error
      default: damage = error
      }
    }
    let known = try MCAPReader.known(before, of: source)
    let own = try SealedSource(source, after: known?.seals)
    let scan: DataSectionScan<SealedSource<Source>>
    if let known, known.end <= own.byteCount {
      scan = try DataSectionScan(own, after: known, limit: limit, leavingOut: own.damaged)
    } else {
      scan = try DataSectionScan(own, trust: .wholeRecords, limit: limit, leavingOut: own.damaged)
    }
    guard let header = scan.header else { throw scan.damage ?? .notMCAP }
    self.scan = MCAPScan(
      header: header, summary: scan.summary, parts: scan.parts, end: scan.end,
      beginning: try MCAPScan.beginning(of: source, end: scan.end), seals: own.seals, leftOut: scan.leftOut,
      leftOutBecause: scan.leftOutBecause)
    self.header = header
    var summary = scan.summary
    summary.statistics = summary.counted
    self.summary = summary
    leftOutByteCount = scan.leftOut.byteCount
    self.damage = scan.damage ?? scan.leftOutBecause ?? damage
    isIndexed = false
    parts = scan.parts
  }

  /// Returns the earlier scan if it belongs to this file; by now, the path may refer to another file.
  private static func known(_ before: MCAPScan?, of source: Source) throws(MCAPError) -> MCAPScan? {
    guard let before, before.end <= source.byteCount,
      try MCAPScan.beginning(of: source, end: before.end) == before.beginning
    else { return nil }
    return before
  }

  private static func header(of source: Source, limit: Int) throws(MCAPError) -> MCAPHeader {
    guard source.byteCount >= UInt64(Layout.magic.count) else { throw .cut(offset: 0) }
    guard try source.bytes(at: 0, count: Layout.magic.count) == Layout.magic else { throw .notMCAP }
    let offset = UInt64(Layout.magic.count)
    let bytes = try source.record(Opcode.header, "header", at: offset, limit: limit)
    var fields = RecordReader(bytes, 0..<bytes.count, name: "header", offset: offset)
    return try MCAPHeader(&fields)
  }

  /// The file's summary; `nil` if it has none.
  private static func summary(of source: Source, limit: Int) throws(MCAPError) -> MCAPSummary? {
    let footerByteCount = Layout.prefixByteCount + Layout.footerByteCount
    let tailByteCount = footerByteCount + Layout.magic.count
    guard source.byteCount >= UInt64(Layout.magic.count + tailByteCount) else { throw .cut(offset: source.byteCount) }
    let footerOffset = source.byteCount - UInt64(tailByteCount)
    let tail = try source.bytes(at: footerOffset, count: tailByteCount)
    guard tail.suffix(Layout.magic.count) == Layout.magic[...] else { throw .cut(offset: source.byteCount) }
    var footer = RecordReader(tail, 0..<footerByteCount, name: "footer", offset: footerOffset)
    guard try footer.integer(UInt8.self) == Opcode.footer,
      try footer.integer(UInt64.self) == UInt64(Layout.footerByteCount)
    else { throw footer.malformed }
    let summaryStart = try footer.integer(UInt64.self)
    let offsetsStart = try footer.integer(UInt64.self)
    let crc = try footer.integer(UInt32.self)
    guard summaryStart != 0 else { return nil }
    let summaryEnd = offsetsStart == 0 ? footerOffset : offsetsStart
    guard summaryStart <= summaryEnd, summaryEnd <= footerOffset else { throw footer.malformed }

    let checked = try source.content(summaryStart..<source.byteCount, "summary", limit: limit)
    // The checksum covers everything from the start of the summary up to the checksum itself.
    let checkedCount = checked.count - Layout.magic.count - 4
    guard crc == 0 || crc == CRC32.of(checked, 0..<checkedCount) else {
      throw .wrongChecksum("summary", offset: summaryStart)
    }
    return try MCAPSummary(checked, 0..<Int(summaryEnd - summaryStart), offset: summaryStart)
  }

  /// The error for the first chunk that this machine cannot decompress, because the library is not installed or the
  /// compression is not supported; `nil` if there is no such chunk.
  public var missingDecompression: MCAPError? {
    let chunk = summary.chunks.first { !MCAPCompression.isReadable($0.compression) }
    return chunk.map { .compressed($0.compression, offset: $0.offset) }
  }

  /// Returns the matching messages. Chunks that have none according to the summary are not read.
  ///
  /// - Parameters:
  ///   - logTimesNanoseconds: the log times to include, without the upper bound; `nil` for all
  ///   - channelIDs: the channels to include; `nil` for all
  public func messages(
    in logTimesNanoseconds: Range<UInt64>? = nil, channelIDs: Set<UInt16>? = nil, order: MCAPOrder = .logTime
  ) -> MCAPMessages<Source> {
    MCAPMessages(self, logTimesNanoseconds, channelIDs, order)
  }

  /// Reads an attachment listed in the summary.
  public func attachment(_ index: MCAPAttachmentIndex) throws(MCAPError) -> MCAPAttachment {
    let bytes = try source.record(Opcode.attachment, "attachment", at: index.offset, limit: limit)
    var fields = RecordReader(bytes, 0..<bytes.count, name: "attachment", offset: index.offset)
    let attachment = try MCAPAttachment(&fields, of: bytes)
    let end = fields.position
    let crc = try fields.integer(UInt32.self)
    guard crc == 0 || crc == CRC32.of(bytes, 0..<end) else {
      throw .wrongChecksum("attachment", offset: index.offset)
    }
    return attachment
  }

  /// Reads a metadata record listed in the summary.
  public func metadata(_ index: MCAPMetadataIndex) throws(MCAPError) -> MCAPMetadata {
    let bytes = try source.record(Opcode.metadata, "metadata", at: index.offset, limit: limit)
    var fields = RecordReader(bytes, 0..<bytes.count, name: "metadata", offset: index.offset)
    return try MCAPMetadata(&fields)
  }

  /// Reads the whole file and verifies every checksum.
  public func check() throws(MCAPError) {
    if let damage { throw damage }
    let scan = try DataSectionScan(source, trust: .wholeRecords, limit: limit)
    if let damage = scan.leftOutBecause ?? scan.damage { throw damage }
    guard let end = scan.dataEnd, end.crc != 0 else { return }
    guard try source.crc(0..<end.offset) == end.crc else { throw .wrongChecksum("data section", offset: end.offset) }
  }
}

extension MCAPReader where Source == MCAPFileSource {
  public init(path: String) throws(MCAPError) { try self.init(MCAPFileSource(path: path)) }
}

extension MCAPReader: Sendable where Source: Sendable {}

/// The result of scanning a file without a usable summary. A later scan of the same file, which may still be growing,
/// continues from here.
public struct MCAPScan: Sendable {
  /// The number of bytes at the start of a file that identify the file. They usually include the header, the first seal
  /// and the metadata of the recording.
  private static let beginningByteCount: UInt64 = 4096

  let header: MCAPHeader
  let summary: MCAPSummary
  let parts: [Part]
  /// The file offset of the end of the last complete record.
  let end: UInt64
  /// The checksum of the file's beginning.
  let beginning: UInt32
  let seals: SealState?
  /// The damaged parts that are followed by more of the recording, as in `DataSectionScan`.
  let leftOut: [Range<UInt64>]
  let leftOutBecause: MCAPError?

  /// - Parameter end: bytes at and after this offset are ignored
  static func beginning(of source: some MCAPSource, end: UInt64) throws(MCAPError) -> UInt32 {
    try source.crc(0..<min(end, beginningByteCount))
  }
}
