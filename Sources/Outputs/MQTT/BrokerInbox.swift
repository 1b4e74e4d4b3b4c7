import DequeModule

/// Events of a connection that a reader has not taken yet. Their memory is limited, because a broker may send more
/// than the reader reads: the oldest messages are dropped first, and counted.
public struct BrokerInbox: Sendable {
  private let byteLimit: Int
  private var events: Deque<MQTTConnection.Event> = []
  private var byteCount = 0
  private var lostCount = 0

  public init(byteLimit: Int = 16 << 20) { self.byteLimit = byteLimit }

  public mutating func add(_ event: MQTTConnection.Event) {
    events.append(event)
    byteCount += BrokerInbox.byteCount(of: event)
    while byteCount > byteLimit, events.count > 1 {
      byteCount -= BrokerInbox.byteCount(of: events.remove(at: indexOfOldest))
      lostCount += 1
    }
  }

  /// Takes the oldest event, with the number of events that were dropped since the last call.
  public mutating func next() -> (event: MQTTConnection.Event?, lostCount: Int) {
    defer { lostCount = 0 }
    guard let event = events.popFirst() else { return (nil, lostCount) }
    byteCount -= BrokerInbox.byteCount(of: event)
    return (event, lostCount)
  }

  /// Whether the events include the end of the connection's thread.
  public var hasEnded: Bool { events.contains { if case .ended = $0 { true } else { false } } }

  /// The index of the oldest message, or of the oldest event if there are no messages.
  private var indexOfOldest: Int {
    events.firstIndex { if case .received = $0 { true } else { false } } ?? 0
  }

  /// The memory of an event, estimated.
  private static func byteCount(of event: MQTTConnection.Event) -> Int {
    guard case .received(let topic, let payload, _, _) = event else { return 256 }
    return topic.utf8.count + payload.count + 256
  }
}
