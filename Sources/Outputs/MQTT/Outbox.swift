import DequeModule

/// The messages to be published. It keeps the latest message of each retained topic, and the others in their order, as
/// many as there is room for: the oldest are lost first, and counted.
struct Outbox {
  struct Message: Equatable, Sendable {
    var topic: String
    var payload: [UInt8]
    var isRetained = false
    var expirySeconds: UInt32 = 0
    /// Only its answer matters.
    var isProbe = false

    /// Its approximate size in memory.
    var byteCount: Int { payload.count + topic.utf8.count + 64 }
  }

  let byteLimit: Int
  private(set) var lostCount = 0
  /// The messages that the broker should have, whatever it has lost.
  private var retained: [String: Message] = [:]
  /// Topics whose latest message it does not have yet, in the order of their changes.
  private var changed: Deque<String> = []
  private var values: Deque<Message> = []
  private var byteCount = 0

  /// - Parameter byteLimit: what messages that are not retained may take up together
  init(byteLimit: Int = 4 << 20) { self.byteLimit = byteLimit }

  var isEmpty: Bool { changed.isEmpty && values.isEmpty }

  mutating func add(_ message: Message) {
    guard !message.isRetained else { return keep(message) }
    values.append(message)
    byteCount += message.byteCount
    dropOldest()
  }

  private mutating func dropOldest() {
    while byteCount > byteLimit, let oldest = values.popFirst() {
      byteCount -= oldest.byteCount
      lostCount += 1
    }
  }

  private mutating func keep(_ message: Message) {
    retained[message.topic] = message
    if !changed.contains(message.topic) { changed.append(message.topic) }
  }

  /// The next to be published.
  mutating func next() -> Message? {
    if let topic = changed.popFirst() {
      // Taking a message back is not to be said again and again.
      return retained[topic]?.payload.isEmpty ?? true ? retained.removeValue(forKey: topic) : retained[topic]
    }
    guard let value = values.popFirst() else { return nil }
    byteCount -= value.byteCount
    return value
  }

  /// Takes back the messages on their way when a connection was lost, in their order: they are published again before
  /// the others.
  mutating func putBack(_ messages: [Message]) {
    for message in messages.reversed() {
      if message.isProbe { continue }
      if !message.isRetained {
        values.prepend(message)
        byteCount += message.byteCount
      } else if message.payload.isEmpty, retained[message.topic] == nil {
        // Other retained messages are published again with each connection.
        keep(message)
      }
    }
    dropOldest()
  }

  /// With a new connection, to a broker that may have restarted: all retained messages are published again.
  mutating func restart() { changed = Deque(retained.keys.sorted()) }
}
