import FoundationEssentials

@testable import MCAP

/// A record in the form of the format's conformance cases, with numbers and bytes as strings.
struct ConformanceRecord: Equatable, Decodable {
  enum Value: Equatable, Decodable {
    case text(String)
    case list([String])
    case map([String: String])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self) {
        self = .text(text)
      } else if let list = try? container.decode([String].self) {
        self = .list(list)
      } else {
        self = .map(try container.decode([String: String].self))
      }
    }

    init(_ value: some BinaryInteger) { self = .text("\(value)") }
    init(_ bytes: some Sequence<UInt8>) { self = .list(bytes.map { "\($0)" }) }
    init(_ pairs: some Sequence<(UInt16, UInt64)>) {
      self = .map(Dictionary(uniqueKeysWithValues: pairs.map { ("\($0.0)", "\($0.1)") }))
    }
  }

  private struct Field: Decodable {
    var name: String
    var value: Value

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      name = try container.decode(String.self)
      value = try container.decode(Value.self)
    }
  }

  private enum CodingKeys: CodingKey { case type, fields }

  var type: String
  var fields: [String: Value]

  init(_ type: String, _ fields: [String: Value]) {
    self.type = type
    self.fields = fields
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    type = try container.decode(String.self, forKey: .type)
    let fields = try container.decode([Field].self, forKey: .fields)
    self.fields = Dictionary(fields.map { ($0.name, $0.value) }) { $1 }
  }
}

/// The records that a case expects, in the order in which a reader returns them: each schema and channel once,
/// messages by log time. The file offsets of records are not compared.
struct ConformanceExpectation: Equatable {
  var records: [ConformanceRecord]

  private struct File: Decodable { var records: [ConformanceRecord] }

  private static let types = [
    "Header", "Schema", "Channel", "Message", "Attachment", "Metadata", "Statistics", "ChunkIndex", "AttachmentIndex",
    "MetadataIndex",
  ]

  /// - Parameter json: the file of a case
  init(json: [UInt8]) throws {
    let all = try JSONDecoder().decode(File.self, from: Data(json)).records
    records = ConformanceExpectation.types.flatMap { type in
      var ofType: [ConformanceRecord] = []
      for record in all where record.type == type {
        if type == "Schema" || type == "Channel", ofType.contains(record) { continue }
        ofType.append(record)
      }
      guard type == "Message" else { return ofType }
      func time(_ record: ConformanceRecord) -> Int {
        guard case .text(let text) = record.fields["log_time"] else { return -1 }
        return Int(text) ?? -1
      }
      return ofType.enumerated().sorted { (time($0.element), $0.offset) < (time($1.element), $1.offset) }.map(\.element)
    }
  }

  /// The records that this library's reader finds.
  ///
  /// The reader computes missing statistics and indexes. They are omitted if the case has none.
  init<Source: MCAPSource>(_ reader: MCAPReader<Source>, features: Set<ConformanceVariant.Feature>) throws {
    let summary = reader.summary
    records = [
      ConformanceRecord(
        "Header", ["library": .text(reader.header.library), "profile": .text(reader.header.profile)])
    ]
    records += summary.schemas.values.sorted { $0.id < $1.id }.map(ConformanceRecord.init)
    records += summary.channels.values.sorted { $0.id < $1.id }.map(ConformanceRecord.init)
    var messages = reader.messages()
    while let message = try messages.next() { records.append(ConformanceRecord(message)) }
    records += try summary.attachments.map { ConformanceRecord(try reader.attachment($0)) }
    records += try summary.metadata.map { ConformanceRecord(try reader.metadata($0)) }
    if features.contains(.statistics), let statistics = summary.statistics {
      records.append(ConformanceRecord(statistics))
    }
    if features.contains(.chunkIndex) { records += summary.chunks.map(ConformanceRecord.init) }
    if features.contains(.attachmentIndex) { records += summary.attachments.map(ConformanceRecord.init) }
    if features.contains(.metadataIndex) { records += summary.metadata.map(ConformanceRecord.init) }
  }
}

extension ConformanceRecord {
  init(_ schema: MCAPSchema) {
    self.init(
      "Schema",
      [
        "id": Value(schema.id), "name": .text(schema.name), "encoding": .text(schema.encoding),
        "data": Value(schema.data),
      ])
  }

  init(_ channel: MCAPChannel) {
    self.init(
      "Channel",
      [
        "id": Value(channel.id), "schema_id": Value(channel.schemaID), "topic": .text(channel.topic),
        "message_encoding": .text(channel.messageEncoding), "metadata": .map(channel.metadata),
      ])
  }

  init(_ message: MCAPMessage) {
    self.init(
      "Message",
      [
        "channel_id": Value(message.channelID), "sequence": Value(message.sequence),
        "log_time": Value(message.logTimeNanoseconds), "publish_time": Value(message.publishTimeNanoseconds),
        "data": Value(message.data),
      ])
  }

  init(_ attachment: MCAPAttachment) {
    self.init(
      "Attachment",
      [
        "name": .text(attachment.name), "media_type": .text(attachment.mediaType),
        "log_time": Value(attachment.logTimeNanoseconds), "create_time": Value(attachment.createTimeNanoseconds),
        "data": Value(attachment.data),
      ])
  }

  init(_ metadata: MCAPMetadata) {
    self.init("Metadata", ["name": .text(metadata.name), "metadata": .map(metadata.entries)])
  }

  init(_ statistics: MCAPStatistics) {
    self.init(
      "Statistics",
      [
        "message_count": Value(statistics.messageCount), "schema_count": Value(statistics.schemaCount),
        "channel_count": Value(statistics.channelCount), "attachment_count": Value(statistics.attachmentCount),
        "metadata_count": Value(statistics.metadataCount), "chunk_count": Value(statistics.chunkCount),
        "message_start_time": Value(statistics.startTimeNanoseconds),
        "message_end_time": Value(statistics.endTimeNanoseconds),
        "channel_message_counts": Value(statistics.channelMessageCounts.map { ($0.key, $0.value) }),
      ])
  }

  init(_ chunk: MCAPChunkIndex) {
    self.init(
      "ChunkIndex",
      [
        "message_start_time": Value(chunk.startTimeNanoseconds), "message_end_time": Value(chunk.endTimeNanoseconds),
        "chunk_start_offset": Value(chunk.offset), "chunk_length": Value(chunk.byteCount),
        "message_index_offsets": Value(chunk.channels.map { ($0.channelID, $0.offset) }),
        "message_index_length": Value(chunk.messageIndexByteCount), "compression": .text(chunk.compression),
        "compressed_size": Value(chunk.compressedByteCount), "uncompressed_size": Value(chunk.uncompressedByteCount),
      ])
  }

  init(_ index: MCAPAttachmentIndex) {
    self.init(
      "AttachmentIndex",
      [
        "offset": Value(index.offset), "length": Value(index.byteCount), "log_time": Value(index.logTimeNanoseconds),
        "create_time": Value(index.createTimeNanoseconds), "data_size": Value(index.dataByteCount),
        "name": .text(index.name), "media_type": .text(index.mediaType),
      ])
  }

  init(_ index: MCAPMetadataIndex) {
    self.init(
      "MetadataIndex",
      ["offset": Value(index.offset), "length": Value(index.byteCount), "name": .text(index.name)])
  }
}
