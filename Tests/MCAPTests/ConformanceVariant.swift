@testable import MCAP

/// One of the conformance files of the format's own libraries (github.com/foxglove/mcap, tests/conformance), built
/// from the rules that its name refers to: some records, and optional features.
struct ConformanceVariant: Sendable {
  enum Feature: String, CaseIterable, Sendable {
    case chunks = "ch"
    case messageIndex = "mx"
    case statistics = "st"
    case repeatedSchemas = "rsh"
    case repeatedChannels = "rch"
    case attachmentIndex = "ax"
    case metadataIndex = "mdx"
    case chunkIndex = "chx"
    case summaryOffset = "sum"
    /// Three bytes beyond the known fields at the end of most records.
    case padding = "pad"
  }

  var content: ConformanceContent
  var features: Set<Feature>

  var name: String { ([content.name] + features.map(\.rawValue).sorted()).joined(separator: "-") }

  /// All 416 meaningful variants.
  static let all: [ConformanceVariant] = ConformanceContent.all.flatMap { content in
    let features = Feature.allCases
    let subsets: [Set<Feature>] = (0..<1 << features.count).map { (bits: Int) in
      Set(features.enumerated().filter { bits & 1 << $0.offset != 0 }.map(\.element))
    }
    return subsets.map { ConformanceVariant(content: content, features: $0) }.filter(\.makesSense)
  }

  private var makesSense: Bool {
    let has = features.contains
    if has(.attachmentIndex), content.attachments.isEmpty { return false }
    if has(.metadataIndex), content.metadata.isEmpty { return false }
    if has(.repeatedSchemas), content.schemas.isEmpty { return false }
    if has(.repeatedChannels) || has(.chunks), content.channels.isEmpty { return false }
    if has(.chunkIndex) || has(.messageIndex), !has(.chunks) { return false }
    let summary: Set<Feature> = [
      .chunkIndex, .repeatedSchemas, .repeatedChannels, .metadataIndex, .attachmentIndex, .statistics,
    ]
    return !has(.summaryOffset) || !summary.isDisjoint(with: features)
  }

  /// The statistics of the file, known without reading it.
  var statistics: MCAPStatistics {
    var statistics = MCAPStatistics()
    var counts = MessageCounts()
    for message in content.messages { counts.add(message.channelID, logTimeNanoseconds: message.logTimeNanoseconds) }
    statistics.add(counts)
    statistics.schemaCount = UInt16(content.schemas.count)
    statistics.channelCount = UInt32(content.channels.count)
    statistics.attachmentCount = UInt32(content.attachments.count)
    statistics.metadataCount = UInt32(content.metadata.count)
    statistics.chunkCount = features.contains(.chunks) ? 1 : 0
    return statistics
  }

  /// The file.
  ///
  /// - Parameter compressed: compresses the records of a chunk; the format's own files are not compressed
  func bytes(
    compression: String = "", compressed: ([UInt8]) throws -> [UInt8] = { $0 }
  ) throws -> [UInt8] {
    var file = ConformanceFile(isPadded: features.contains(.padding))
    file.append { MCAPHeader().append(to: &$0) }
    var summary = MCAPSummary()
    if features.contains(.chunks) {
      let index = try file.appendChunk(
        content, withMessageIndex: features.contains(.messageIndex), compression: compression, compressed)
      if features.contains(.chunkIndex) { summary.chunks.append(index) }
    } else {
      for schema in content.schemas { file.append { schema.append(to: &$0) } }
      for channel in content.channels { file.append { channel.append(to: &$0) } }
      for message in content.messages { file.bytes.append(message) }
    }
    for attachment in content.attachments {
      let offset = UInt64(file.bytes.count)
      file.append { attachment.append(to: &$0) }
      guard features.contains(.attachmentIndex) else { continue }
      summary.attachments.append(attachment.index(offset: offset, byteCount: UInt64(file.bytes.count) - offset))
    }
    for metadata in content.metadata {
      let offset = UInt64(file.bytes.count)
      file.append { metadata.append(to: &$0) }
      guard features.contains(.metadataIndex) else { continue }
      summary.metadata.append(
        MCAPMetadataIndex(offset: offset, byteCount: UInt64(file.bytes.count) - offset, name: metadata.name))
    }
    file.finish(self, summary)
    return file.bytes
  }
}

/// The contents of some of the files.
struct ConformanceContent: Sendable {
  var name: String
  var schemas: [MCAPSchema] = []
  var channels: [MCAPChannel] = []
  var messages: [MCAPMessage] = []
  var attachments: [MCAPAttachment] = []
  var metadata: [MCAPMetadata] = []

  private static let schema = MCAPSchema(id: 1, name: "Example", encoding: "c", data: [4, 5, 6])
  private static let channel = MCAPChannel(
    id: 1, schemaID: 1, topic: "example", messageEncoding: "a", metadata: ["foo": "bar"])

  private static func message(_ sequence: UInt32, _ logTime: UInt64, publishTime: UInt64) -> MCAPMessage {
    MCAPMessage(
      channelID: 1, sequence: sequence, logTimeNanoseconds: logTime, publishTimeNanoseconds: publishTime,
      data: [1, 2, 3])
  }

  static let all = [
    ConformanceContent(name: "NoData"),
    ConformanceContent(
      name: "OneSchemalessMessage",
      channels: [MCAPChannel(id: 1, schemaID: 0, topic: "example", messageEncoding: "text")],
      messages: [message(10, 2, publishTime: 1)]),
    ConformanceContent(
      name: "OneMessage", schemas: [schema], channels: [channel], messages: [message(10, 2, publishTime: 1)]),
    ConformanceContent(
      name: "OneAttachment",
      attachments: [
        MCAPAttachment(
          name: "myFile", mediaType: "application/octet-stream", logTimeNanoseconds: 2, createTimeNanoseconds: 1,
          data: [1, 2, 3])
      ]),
    ConformanceContent(name: "OneMetadata", metadata: [MCAPMetadata(name: "myMetadata", entries: ["foo": "bar"])]),
    ConformanceContent(
      name: "TenMessages", schemas: [schema], channels: [channel],
      messages: ([0, 2, 1, 3, 3, 5, 4, 7, 8, 9] as [UInt64]).enumerated().map {
        message(UInt32($0.offset), $0.element, publishTime: $0.element)
      }),
  ]
}

/// A file assembled record by record.
private struct ConformanceFile {
  var bytes = Layout.magic
  let isPadded: Bool

  init(isPadded: Bool) { self.isPadded = isPadded }

  /// Appends a record with its padding.
  mutating func append(_ write: (inout [UInt8]) -> Void) {
    let start = bytes.count
    write(&bytes)
    guard isPadded else { return }
    bytes += [0x01, 0xFF, 0xFF]
    bytes.store(littleEndian: UInt64(bytes.count - start - Layout.prefixByteCount), at: start + 1)
  }

  mutating func appendChunk(
    _ content: ConformanceContent, withMessageIndex: Bool, compression: String,
    _ compressed: ([UInt8]) throws -> [UInt8]
  ) throws -> MCAPChunkIndex {
    var records: [UInt8] = []
    for schema in content.schemas { schema.append(to: &records) }
    for channel in content.channels { channel.append(to: &records) }
    var entries: [UInt8] = []
    var counts = MessageCounts()
    for message in content.messages {
      entries.append(littleEndian: message.logTimeNanoseconds)
      entries.append(littleEndian: UInt64(records.count))
      counts.add(message.channelID, logTimeNanoseconds: message.logTimeNanoseconds)
      records.append(message)
    }
    let offset = UInt64(bytes.count)
    let stored = try compressed(records)
    let chunk = bytes.beginRecord(Opcode.chunk)
    bytes.append(littleEndian: counts.earliest)
    bytes.append(littleEndian: counts.latest)
    bytes.append(littleEndian: UInt64(records.count))
    bytes.append(littleEndian: CRC32.of(records, 0..<records.count))
    bytes.append(prefixed: compression)
    bytes.append(littleEndian: UInt64(stored.count))
    bytes += stored
    bytes.endRecord(chunk)
    let end = UInt64(bytes.count)
    if withMessageIndex {
      append { bytes in
        let start = bytes.beginRecord(Opcode.messageIndex)
        bytes.append(littleEndian: UInt16(1))
        bytes.append(littleEndian: UInt32(entries.count))
        bytes += entries
        bytes.endRecord(start)
      }
    }
    return MCAPChunkIndex(
      startTimeNanoseconds: counts.earliest, endTimeNanoseconds: counts.latest, offset: offset,
      byteCount: end - offset, channels: withMessageIndex ? [.init(channelID: 1, offset: end)] : [],
      messageIndexByteCount: UInt64(bytes.count) - end, compression: compression,
      compressedByteCount: UInt64(stored.count), uncompressedByteCount: UInt64(records.count))
  }

  mutating func finish(_ variant: ConformanceVariant, _ summary: MCAPSummary) {
    let crc = CRC32.of(bytes, 0..<bytes.count)
    let dataEnd = bytes.beginRecord(Opcode.dataEnd)
    bytes.append(littleEndian: crc)
    bytes.endRecord(dataEnd)
    let has = variant.features.contains
    let start = bytes.count
    var groups: [(opcode: UInt8, range: Range<Int>)] = []
    func group(_ opcode: UInt8, _ records: [(inout [UInt8]) -> Void]) {
      let start = bytes.count
      for record in records { append(record) }
      if bytes.count > start { groups.append((opcode, start..<bytes.count)) }
    }
    if has(.repeatedSchemas) { group(Opcode.schema, variant.content.schemas.map { $0.append }) }
    if has(.repeatedChannels) { group(Opcode.channel, variant.content.channels.map { $0.append }) }
    if has(.statistics) { group(Opcode.statistics, [variant.statistics.append]) }
    group(Opcode.metadataIndex, summary.metadata.map { $0.append })
    group(Opcode.attachmentIndex, summary.attachments.map { $0.append })
    group(Opcode.chunkIndex, summary.chunks.map { $0.append })
    let offsetsStart = bytes.count
    let hasSummary = offsetsStart > start
    if has(.summaryOffset) {
      for group in groups {
        append { bytes in
          let start = bytes.beginRecord(Opcode.summaryOffset)
          bytes.append(group.opcode)
          bytes.append(littleEndian: UInt64(group.range.lowerBound))
          bytes.append(littleEndian: UInt64(group.range.count))
          bytes.endRecord(start)
        }
      }
    }
    bytes.append(Opcode.footer)
    bytes.append(littleEndian: UInt64(Layout.footerByteCount))
    bytes.append(littleEndian: hasSummary ? UInt64(start) : 0)
    bytes.append(littleEndian: has(.summaryOffset) ? UInt64(offsetsStart) : 0)
    bytes.append(littleEndian: CRC32.of(bytes, start..<bytes.count))
    bytes += Layout.magic
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ message: MCAPMessage) {
    let start = beginRecord(Opcode.message)
    append(littleEndian: message.channelID)
    append(littleEndian: message.sequence)
    append(littleEndian: message.logTimeNanoseconds)
    append(littleEndian: message.publishTimeNanoseconds)
    append(contentsOf: message.data)
    endRecord(start)
  }
}
