/// The header at the start of a file.
public struct MCAPHeader: Equatable, Sendable {
  /// The conventions that the file follows, for example `ros2`; empty for none.
  public var profile: String
  /// The name of the program that wrote the file, only for display.
  public var library: String

  public init(profile: String = "", library: String = "") {
    self.profile = profile
    self.library = library
  }
}

extension MCAPHeader {
  init(_ fields: inout RecordReader) throws(MCAPError) {
    profile = try fields.text()
    library = try fields.text()
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.header)
    bytes.append(prefixed: profile)
    bytes.append(prefixed: library)
    bytes.endRecord(start)
  }
}

/// The description of a channel's messages.
public struct MCAPSchema: Equatable, Sendable, Identifiable {
  /// The number of the schema, from 1. 0 means no schema.
  public var id: UInt16
  /// The name by which programs recognize the schema, for example `foxglove.LocationFix`.
  public var name: String
  /// The format of `data`: `jsonschema`, `protobuf`, ...; empty if there is no data.
  public var encoding: String
  public var data: [UInt8]

  public init(id: UInt16, name: String, encoding: String, data: [UInt8]) {
    self.id = id
    self.name = name
    self.encoding = encoding
    self.data = data
  }
}

extension MCAPSchema {
  init(_ fields: inout RecordReader, of bytes: [UInt8]) throws(MCAPError) {
    id = try fields.integer()
    name = try fields.text()
    encoding = try fields.text()
    data = Array(bytes[try fields.shortBytes()])
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.schema)
    bytes.append(littleEndian: id)
    bytes.append(prefixed: name)
    bytes.append(prefixed: encoding)
    bytes.append(littleEndian: UInt32(truncatingIfNeeded: data.count))
    bytes.append(contentsOf: data)
    bytes.endRecord(start)
  }
}

/// A stream of messages that share a topic and a schema.
public struct MCAPChannel: Equatable, Sendable, Identifiable {
  public var id: UInt16
  /// The number of the schema; 0 for none, for example with `json`, which does not require one.
  public var schemaID: UInt16
  public var topic: String
  /// The format of the messages' data: `json`, `protobuf`, `cbor`, ...
  public var messageEncoding: String
  public var metadata: [String: String]

  public init(
    id: UInt16, schemaID: UInt16, topic: String, messageEncoding: String, metadata: [String: String] = [:]
  ) {
    self.id = id
    self.schemaID = schemaID
    self.topic = topic
    self.messageEncoding = messageEncoding
    self.metadata = metadata
  }
}

extension MCAPChannel {
  init(_ fields: inout RecordReader) throws(MCAPError) {
    id = try fields.integer()
    schemaID = try fields.integer()
    topic = try fields.text()
    messageEncoding = try fields.text()
    metadata = try fields.map()
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.channel)
    bytes.append(littleEndian: id)
    bytes.append(littleEndian: schemaID)
    bytes.append(prefixed: topic)
    bytes.append(prefixed: messageEncoding)
    bytes.append(prefixed: metadata)
    bytes.endRecord(start)
  }
}

/// One message of a channel.
public struct MCAPMessage: Equatable, Sendable {
  public var channelID: UInt16
  /// A counter per channel, so that missing messages can be detected.
  public var sequence: UInt32
  /// When the message was recorded, in nanoseconds since an epoch chosen by the writer, usually 1970.
  public var logTimeNanoseconds: UInt64
  /// When the message was created; equal to the log time if unknown.
  public var publishTimeNanoseconds: UInt64
  /// The payload, as a slice of the chunk that it was read from. The slice keeps the whole chunk in memory;
  /// `Array(data)` copies the payload so that the chunk can be released. The indices of the slice do not begin at 0.
  public var data: ArraySlice<UInt8>

  public init(
    channelID: UInt16, sequence: UInt32, logTimeNanoseconds: UInt64, publishTimeNanoseconds: UInt64,
    data: ArraySlice<UInt8>
  ) {
    self.channelID = channelID
    self.sequence = sequence
    self.logTimeNanoseconds = logTimeNanoseconds
    self.publishTimeNanoseconds = publishTimeNanoseconds
    self.data = data
  }
}

extension MCAPMessage {
  init(_ fields: inout RecordReader, of bytes: [UInt8]) throws(MCAPError) {
    channelID = try fields.integer()
    sequence = try fields.integer()
    logTimeNanoseconds = try fields.integer()
    publishTimeNanoseconds = try fields.integer()
    data = bytes[try fields.take(fields.remaining)]
  }
}
