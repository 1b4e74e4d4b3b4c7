import Glibc
import Guarding
import MonotonicTime

/// A permanent client of an MQTT 5 broker, whether the broker is there or not: it connects again whenever the
/// connection is lost, and keeps its messages in the meantime.
///
/// Each connection is a process of its own (`BrokerProcess`), in which the library resolves names, waits for networks
/// and reads the broker's messages. A broker that crashes the library or fills the memory does so there. A thread here
/// gives the process messages and takes its reports; no other thread ever waits for a broker. The thread wakes when it
/// gets a message while it is connected, when the broker sends something, and to connect again. The process wakes for
/// the first two, and to ping the broker.
///
/// The program must call `BrokerClient.runIfAsked()` first: it starts itself again for each connection.
public final class MQTTConnection: Sendable {
  public enum Event: Sendable {
    case connected
    /// There is no connection, or no more. Told for each try.
    case disconnected(reason: String)
    /// The broker refuses one of the client's subscriptions.
    case refused(reason: String)
    /// The broker does not take a message; it takes others.
    case notTaken(MQTTRefusal)
    /// Whether a probed topic has subscribers, or a topic with a published value has none.
    case answered(topic: String, hasSubscribers: Bool)
    /// `isRetained` where the broker has kept it, and says it because of the subscription.
    case received(topic: String, payload: [UInt8], isRetained: Bool, expirySeconds: UInt32?)
    /// The broker sent a message that is longer than `maximumPacketByteCount`; it was dropped.
    case leftOut(byteCount: Int)
    /// After the last of the other events.
    case ended
  }

  private struct State {
    var outbox: Outbox
    var refusedCount = 0
    var isConnected = false
    var isWatched = true
    /// To which the broker has not answered yet.
    var awaitedSubscriptions = 0
    var isEnding = false
  }

  let options: MQTTOptions
  let wake = WakeSignal()
  private let state: Guarded<State>

  /// - Parameter byteLimit: what messages that are not retained may take up while they wait
  public init(_ options: MQTTOptions, byteLimit: Int = 4 << 20) {
    self.options = options
    state = Guarded(State(outbox: Outbox(byteLimit: byteLimit)))
  }

  /// To be called once.
  ///
  /// - Parameter receive: called on the connection's thread, which waits for it
  public func start(_ receive: @escaping @Sendable (Event) -> Void) throws(MQTTError) {
    let error = DetachedThread.start("mqtt") { [self] in
      MQTTLoop(self, receive).run()
      receive(.ended)
    }
    if error != 0 { throw .noThread(reason: String(cString: strerror(error))) }
  }

  /// Disconnects from the broker, if it is connected, and ends its thread. Does not wait for that.
  public func end() {
    state.withLock { $0.isEnding = true }
    wake.raise()
  }

  /// Publishes a message once it can be. Does not wait.
  public func publish(_ topic: String, _ payload: [UInt8]) {
    add(Outbox.Message(topic: topic, payload: payload))
  }

  /// Publishes an empty object, for the answer; nothing without a connection. Does not wait.
  func probe(_ topic: String) {
    guard isConnected else { return }
    add(Outbox.Message(topic: topic, payload: Array("{}".utf8), isProbe: true))
  }

  /// Has the broker keep this as the latest of a topic, from when it can be had on, and whenever it has lost it; an empty one
  /// clears the topic. Does not wait.
  ///
  /// - Parameter expirySeconds: after which time the broker is to forget it; 0 for never
  public func retain(_ topic: String, _ payload: [UInt8], expirySeconds: UInt32 = 0) {
    add(Outbox.Message(topic: topic, payload: payload, isRetained: true, expirySeconds: expirySeconds))
  }

  /// How many messages were lost because the broker did not take them in time.
  public var lostCount: Int { state.withLock { $0.outbox.lostCount } }

  /// How many messages the broker has not taken though it had them, or would not.
  public var refusedCount: Int { state.withLock { $0.refusedCount } }

  /// Whether its messages have viewers; `true` until that is known.
  var isWatched: Bool {
    get { state.withLock { $0.isWatched } }
    set { state.withLock { $0.isWatched = newValue } }
  }

  public var isConnected: Bool { state.withLock { $0.isConnected } }

  /// Whether the broker has answered to all that the client has subscribed to.
  public var hasSubscribed: Bool { state.withLock { $0.isConnected && $0.awaitedSubscriptions == 0 } }

  /// Whether all that was given to it has been sent. It may still be on its way.
  public var hasSentAll: Bool { state.withLock { $0.outbox.isEmpty && $0.isConnected } }

  private func add(_ message: Outbox.Message) {
    let isConnected = state.withLock { state in
      state.outbox.add(message)
      return state.isConnected
    }
    // Else the thread would wake for nothing.
    if isConnected { wake.raise() }
  }

  // MARK: For the connection's thread

  var isEnding: Bool { state.withLock { $0.isEnding } }

  /// Whether there are viewers, or urgent messages: it reconnects sooner.
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

  /// The broker has answered to a subscription.
  ///
  /// - Returns: whether there was one without an answer
  func subscribed() -> Bool {
    state.withLock { state in
      guard state.awaitedSubscriptions > 0 else { return false }
      state.awaitedSubscriptions -= 1
      return true
    }
  }
}
