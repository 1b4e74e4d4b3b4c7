/// A channel of a recording: its name, and the schema of its messages.
public struct RecordedChannel: Equatable, Sendable {
  /// The structure of messages, for programs that show them.
  public struct Schema: Equatable, Sendable {
    /// The name by which programs recognize the schema, for example `foxglove.LocationFix`.
    public var name: String
    /// The language of `text`, for example `jsonschema` or `text/plain`.
    public var encoding: String
    public var text: String

    public init(name: String, encoding: String, text: String) {
      self.name = name
      self.encoding = encoding
      self.text = text
    }
  }

  public var topic: String
  public var messageEncoding: String
  public var schema: Schema?

  public init(topic: String, messageEncoding: String, schema: Schema? = nil) {
    self.topic = topic
    self.messageEncoding = messageEncoding
    self.schema = schema
  }
}
