import MCAP

/// The contents of a recording's file.
struct Recorded {
  var isWhole: Bool
  var messages: [String: [MCAPMessage]] = [:]
  var metadata: [MCAPMetadata]

  init(_ path: String) throws {
    let reader = try MCAPReader(path: path)
    isWhole = reader.isIndexed && reader.damage == nil
    metadata = try reader.summary.metadata.map { try reader.metadata($0) }
    for channel in reader.summary.channels.values {
      var messages = reader.messages(channelIDs: [channel.id])
      while let message = try messages.next() { self.messages[channel.topic, default: []].append(message) }
    }
  }

  func texts(_ topic: String) -> [String] {
    (messages[topic] ?? []).map { String(decoding: $0.data, as: UTF8.self) }
  }

  func count(_ topic: String) -> Int { messages[topic]?.count ?? 0 }
}
