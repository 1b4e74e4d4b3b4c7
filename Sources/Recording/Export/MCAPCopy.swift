import MCAP

/// Copies messages of several files into one new, complete file. Channels and schemas get new numbers. Channels
/// that are equal in several files become one channel, and so do schemas.
public struct MCAPCopy<Sink: MCAPSink & ~Copyable>: ~Copyable {
  private struct SchemaKey: Hashable {
    var name: String
    var encoding: String
    var data: [UInt8]
  }

  private struct ChannelKey: Hashable {
    var schemaID: UInt16
    var topic: String
    var messageEncoding: String
    var metadata: [String: String]
  }

  private var writer: MCAPWriter<Sink>
  private var schemas: [SchemaKey: UInt16] = [:]
  private var channels: [ChannelKey: UInt16] = [:]
  private var metadata: [MCAPMetadata] = []
  /// The new number of each channel of the present source file.
  private var numbers: [UInt16: UInt16] = [:]
  private var summary = MCAPSummary()

  public var messageCount: UInt64 { writer.messageCount }

  /// - Parameter writer: the writer of the new file, to which nothing has been added yet
  public init(_ writer: consuming MCAPWriter<Sink>) { self.writer = writer }

  /// Starts copying from another source file. Its summary gives the channels and schemas of the messages that follow.
  public mutating func beginFile(_ summary: MCAPSummary) {
    self.summary = summary
    numbers = [:]
  }

  /// Adds facts about a recording, unless the same facts were added already.
  public mutating func add(_ metadata: MCAPMetadata) throws(MCAPError) {
    if self.metadata.contains(metadata) { return }
    try writer.add(metadata)
    self.metadata.append(metadata)
  }

  public mutating func add(_ attachment: MCAPAttachment) throws(MCAPError) { try writer.add(attachment) }

  public mutating func append(_ message: MCAPMessage) throws(MCAPError) {
    var message = message
    message.channelID = try number(of: message.channelID)
    try writer.append(message)
  }

  public mutating func finish() throws(MCAPError) { try writer.finish() }

  private mutating func number(of id: UInt16) throws(MCAPError) -> UInt16 {
    if let number = numbers[id] { return number }
    guard let channel = summary.channels[id] else { throw .unknown("channel", id: id) }
    var key = ChannelKey(
      schemaID: 0, topic: channel.topic, messageEncoding: channel.messageEncoding, metadata: channel.metadata)
    if let schema = summary.schemas[channel.schemaID] { key.schemaID = try number(of: schema) }
    let number: UInt16
    if let known = channels[key] {
      number = known
    } else {
      number = try writer.addChannel(
        topic: key.topic, messageEncoding: key.messageEncoding, schemaID: key.schemaID, metadata: key.metadata)
      channels[key] = number
    }
    numbers[id] = number
    return number
  }

  private mutating func number(of schema: MCAPSchema) throws(MCAPError) -> UInt16 {
    let key = SchemaKey(name: schema.name, encoding: schema.encoding, data: schema.data)
    if let known = schemas[key] { return known }
    let number = try writer.addSchema(name: schema.name, encoding: schema.encoding, data: schema.data)
    schemas[key] = number
    return number
  }
}
