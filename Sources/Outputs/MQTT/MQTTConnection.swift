import CMosquitto
import DequeModule
import Glibc
import Guarding
import MonotonicTime

/// A permanent client of an MQTT 5 broker. If the connection is lost, it connects again, and keeps its messages in the
/// meantime.
///
/// Each connection is a separate process (`BrokerProcess`). There the library resolves names, waits for networks and
/// reads the broker's messages. A broker that crashes the library or fills the memory harms only that process. A thread
/// of the hub gives messages to that process and takes its reports; no other thread of the hub ever waits for a broker.
/// The thread wakes for a new message while there is a connection, when the broker sends something, and to connect
/// again. The separate process wakes in the first two cases, and to ping the broker.
///
/// The program must call `BrokerClient.runIfAsked()` first, because a program with this type starts itself again for
/// each connection.
public final class MQTTConnection: Sendable {
  public enum Event: Sendable {
    case connected
    /// The connection is lost or could not be made. Reported for each attempt.
    case disconnected(BrokerLoss)
    /// The broker refuses one of the client's subscriptions.
    case refused(reason: String)
    /// The broker refuses one message, although it accepts others.
    case notTaken(MQTTRefusal)
    /// Whether a topic has subscribers, from the broker's answer to a probe or to a published value.
    case answered(topic: String, hasSubscribers: Bool)
    /// A message arrived. `isRetained` is true if the broker had stored it and sends it because of the subscription.
    case received(topic: String, payload: [UInt8], isRetained: Bool, expirySeconds: UInt32?)
    /// The broker sent a message that is longer than `maximumPacketByteCount`; it was dropped.
    case leftOut(byteCount: Int)
    /// The connection's thread has ended. No event follows.
    case ended
  }

  private struct State {
    var outbox: Outbox
    var refusedCount = 0
    var isConnected = false
    var isWatched = true
    /// The number of subscriptions that the broker has not answered yet.
    var awaitedSubscriptions = 0
    var isEnding = false
  }

  let options: MQTTOptions
  let wake = WakeSignal()
  private let state: Guarded<State>

  /// - Parameter byteLimit: the maximum total size, in bytes, of the waiting messages that are not retained
  public init(_ options: MQTTOptions, byteLimit: Int = 4 << 20) {
    self.options = options
    state = Guarded(State(outbox: Outbox(byteLimit: byteLimit)))
  }

  /// Starts the thread. Call this once.
  ///
  /// - Parameter receive: called on the connection's thread, which waits for it
  public func start(_ receive: @escaping @Sendable (Event) -> Void) throws(MQTTError) {
    let error = DetachedThread.start("mqtt") { [self] in
      MQTTLoop(self, receive).run()
      state.withLock { $0.outbox.discard() }
      receive(.ended)
    }
    if error != 0 { throw .noThread(reason: String(cString: strerror(error))) }
  }

  /// Disconnects from the broker, if connected, and ends the thread. Does not wait.
  public func end() {
    state.withLock { $0.isEnding = true }
    wake.raise()
  }

  /// Publishes a message as soon as possible. Does not wait.
  public func publish(_ topic: String, _ payload: [UInt8]) {
    add(Outbox.Message(topic: topic, payload: payload))
  }

  /// Publishes a message as soon as possible. Does not wait.
  ///
  /// - Returns: the receipt with which the caller waits until the broker has the message
  func publishWithReceipt(_ topic: String, _ payload: [UInt8]) -> MessageReceipt {
    let receipt = MessageReceipt()
    add(Outbox.Message(topic: topic, payload: payload, ticket: MessageReceipt.Ticket(receipt)))
    return receipt
  }

  /// Publishes an empty object: the broker's answer says whether there are subscribers. Without a connection this
  /// does nothing. Does not wait.
  func probe(_ topic: String) {
    guard isConnected else { return }
    add(Outbox.Message(topic: topic, payload: Array("{}".utf8), isProbe: true))
  }

  /// Makes the broker keep this message as the latest of a topic, now and after every reconnection. An empty message
  /// clears the topic. Does not wait.
  ///
  /// - Parameter expirySeconds: the time after which the broker forgets the message; 0 for never
  public func retain(_ topic: String, _ payload: [UInt8], expirySeconds: UInt32 = 0) {
    add(Outbox.Message(topic: topic, payload: payload, isRetained: true, expirySeconds: expirySeconds))
  }

  /// Clears a topic at the broker, unless the connection is lost before that. Another client may have published a new
  /// message there by the time of the next connection.
  func clear(_ topic: String) {
    add(Outbox.Message(topic: topic, payload: [], isRetained: true, isOnlyForThisConnection: true))
  }

  /// The number of messages that were dropped because too many bytes waited for the broker.
  public var lostCount: Int { state.withLock { $0.outbox.lostCount } }

  /// The number of messages that the broker refused, or that the library did not send.
  public var refusedCount: Int { state.withLock { $0.refusedCount } }

  /// Whether the messages have viewers; `true` while that is unknown.
  var isWatched: Bool {
    get { state.withLock { $0.isWatched } }
    set { state.withLock { $0.isWatched = newValue } }
  }

  public var isConnected: Bool { state.withLock { $0.isConnected } }

  /// Whether the broker has answered all subscriptions.
  public var hasSubscribed: Bool { state.withLock { $0.isConnected && $0.awaitedSubscriptions == 0 } }

  /// Whether all messages have been sent. The broker may not have received them yet.
  public var hasSentAll: Bool { state.withLock { $0.outbox.isEmpty && $0.isConnected } }

  private func add(_ message: Outbox.Message) {
    let isConnected = state.withLock { state in
      // The thread sends nothing more.
      guard !state.isEnding else { return false }
      state.outbox.add(message)
      return state.isConnected
    }
    // Without a connection, the thread has no work to do.
    if isConnected { wake.raise() }
  }

  // MARK: For the connection's thread

  var isEnding: Bool { state.withLock { $0.isEnding } }

  /// Whether there are viewers or waiting messages, so that the client reconnects sooner.
  var isAwaited: Bool { state.withLock { $0.isWatched || !$0.outbox.isEmpty } }

  func nextMessage() -> Outbox.Message? { state.withLock { $0.outbox.next() } }

  func putBack(_ messages: [Outbox.Message]) { state.withLock { $0.outbox.putBack(messages) } }

  func messageRefused() { state.withLock { $0.refusedCount += 1 } }

  func connected(_ isConnected: Bool) {
    state.withLock { state in
      state.isConnected = isConnected
      state.awaitedSubscriptions = isConnected ? options.subscriptions.count : 0
      if isConnected { state.outbox.restart() }
    }
  }

  /// Handles the broker's answer to a subscription.
  ///
  /// - Returns: whether an answer was outstanding
  func subscribed() -> Bool {
    state.withLock { state in
      guard state.awaitedSubscriptions > 0 else { return false }
      state.awaitedSubscriptions -= 1
      return true
    }
  }
}

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

  /// The estimated size of an event in memory, in bytes.
  private static func byteCount(of event: MQTTConnection.Event) -> Int {
    guard case .received(let topic, let payload, _, _) = event else { return 256 }
    return topic.utf8.count + payload.count + 256
  }
}

/// A message that is not published although others are: the broker refuses it, or it is too long for the hub.
public struct MQTTRefusal: Equatable, Sendable {
  public enum Reason: Hashable, Sendable {
    case notAllowed
    /// The message is too large; `nil` if the broker does not state its limit.
    case tooLarge(byteLimit: Int?)
    case quotaExceeded
    case other(String)

    /// - Parameters:
    ///   - code: a reason code of MQTT 5 (2.4), from 128 on
    ///   - words: the name of the code
    init(code: UInt32, words: String) {
      switch code {
      case 0x87: self = .notAllowed
      case 0x95: self = .tooLarge(byteLimit: nil)
      case 0x97: self = .quotaExceeded
      default: self = .other(words)
      }
    }
  }

  public var topic: String
  /// The size of the payload in bytes.
  public var byteCount: Int
  public var reason: Reason
}

extension MQTTRefusal: CustomStringConvertible {
  /// The refusal, with the next step.
  public var description: String {
    switch reason {
    case .notAllowed: "\(topic): the broker's access list must let this user write there"
    case .tooLarge(let limit):
      "\(topic): \(byteCount) bytes are more than \(limit.map { "the \($0) that the broker accepts in one message" } ?? "the broker accepts"); "
        + "raise the broker's limit (mosquitto: max_packet_size, message_size_limit)"
    case .quotaExceeded: "\(topic): the broker's quota is exceeded; raise the quota, or request fewer values per second"
    case .other(let words): "\(topic): \(words)"
    }
  }
}

/// The reason why a client of a broker cannot be made.
public enum MQTTError: Error, Equatable, CustomStringConvertible {
  case missingLibrary
  case noThread(reason: String)

  /// Whether libmosquitto is missing.
  public static var isLibraryMissing: Bool { !cmosquitto_is_available() }

  public var description: String {
    switch self {
    case .missingLibrary: "libmosquitto, the library for MQTT, is not installed: sudo apt-get install libmosquitto1"
    case .noThread(let reason): "cannot start a thread for the connection: \(reason)"
    }
  }
}
