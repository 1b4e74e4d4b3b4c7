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
