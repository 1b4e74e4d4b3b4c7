/// A channel of a recording: its name, and the kind of its messages.
public struct RecordedChannel: Equatable, Sendable {
  /// What messages are made of, for programs that show them.
  public struct Schema: Equatable, Sendable {
    /// What programs know it by: `foxglove.LocationFix`.
    public var name: String
    /// The language of `text`: `jsonschema`, `text/plain`.
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
