import DequeModule
import Guarding

/// The messages that wait to be published. It keeps the latest message of each retained topic, and all other messages
/// in order. If the others exceed a total size, the oldest ones are dropped and counted.
struct Outbox {
  struct Message: Sendable {
    var topic: String
    var payload: [UInt8]
    var isRetained = false
    /// Whether the message is dropped if the connection is lost before the broker has it.
    var isOnlyForThisConnection = false
    var expirySeconds: UInt32 = 0
    /// Whether the message is sent only for the broker's answer.
    var isProbe = false
    /// Tells the publisher whether the broker has the message; `nil` if the publisher does not wait for that.
    var ticket: MessageReceipt.Ticket?

    /// The message's approximate size in memory, in bytes.
    var byteCount: Int { payload.count + topic.utf8.count + 64 }
  }

  /// The messages that the broker should store. They are sent again with each connection, because the broker may have
  /// lost them.
  private var retained: [String: Message] = [:]
  /// The topics whose latest message the broker does not have yet, in the order of their changes.
  private var changed: Deque<String> = []
  private var values: BoundedQueue<Message>

  /// - Parameter byteLimit: the maximum total size of the messages that are not retained, in bytes
  init(byteLimit: Int = 4 << 20) { values = BoundedQueue(limit: byteLimit) }

  /// The number of messages that were dropped.
  var lostCount: Int { values.droppedCount }

  var isEmpty: Bool { changed.isEmpty && values.isEmpty }

  mutating func add(_ message: Message) {
    guard !message.isRetained else { return keep(message) }
    values.append(message, size: message.byteCount)
  }

  private mutating func keep(_ message: Message) {
    retained[message.topic] = message
    if !changed.contains(message.topic) { changed.append(message.topic) }
  }

  /// Removes the next message to publish.
  mutating func next() -> Message? {
    if let topic = changed.popFirst() {
      // An empty message clears a topic, and is not kept for later connections.
      return retained[topic]?.payload.isEmpty ?? true ? retained.removeValue(forKey: topic) : retained[topic]
    }
    return values.popFirst()
  }

  /// Takes back the unacknowledged messages, in order, after a connection was lost. They are published again before
  /// all other messages.
  mutating func putBack(_ messages: [Message]) {
    let messages = messages.filter { !$0.isProbe }
    values.prepend(messages.filter { !$0.isRetained }) { $0.byteCount }
    for message in messages.reversed() where message.isRetained {
      // Sending an empty message has removed its topic from `retained`. All other retained messages are published again
      // with each connection.
      let isKept = message.payload.isEmpty && !message.isOnlyForThisConnection
      if isKept, retained[message.topic] == nil { keep(message) }
    }
  }

  /// Drops everything. Nothing will be sent any more.
  mutating func discard() {
    (retained, changed) = ([:], [])
    while values.popFirst() != nil {}
  }

  /// Marks all retained messages for publication: the broker may have restarted before the new connection.
  mutating func restart() {
    retained = retained.filter { !$0.value.isOnlyForThisConnection }
    changed = Deque(retained.keys.sorted())
  }
}

extension Outbox.Message: Equatable {
  static func == (a: Outbox.Message, b: Outbox.Message) -> Bool {
    a.topic == b.topic && a.payload == b.payload && a.isRetained == b.isRetained
      && a.isOnlyForThisConnection == b.isOnlyForThisConnection
      && a.expirySeconds == b.expirySeconds && a.isProbe == b.isProbe && a.ticket === b.ticket
  }
}
