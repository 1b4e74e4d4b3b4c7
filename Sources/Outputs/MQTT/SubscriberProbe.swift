import Guarding
import Hub
import MonotonicTime

/// Keeps the devices awake for clients that subscribe to the hub's states without publishing a request.
///
/// An MQTT 5 broker answers a message of QoS 1 with a reason code that says whether the topic has subscribers (0x10:
/// none). The probe therefore publishes a few bytes on the topic of the states, once in each keep-alive interval and
/// instead of a ping. Some brokers always give the same answer, so with each connection a random topic is probed first.
/// If that topic has a subscriber, either a client subscribes to everything or the answers mean nothing; the probe then
/// ends until the next connection.
final class SubscriberProbe: Sendable {
  /// The interval of probes, the same as the keep-alive of a connection.
  static let interval = Duration.seconds(60)
  /// The name of the viewer. No topic of a request can contain it.
  static let viewer = "(subscribers)"
  /// The request that the hub makes for these subscribers.
  private static let interest = #"{"rateHz":1}"#

  private struct State {
    /// A random topic that no client knows. Each connection uses another one.
    var canary = ""
    /// Whether the broker has answered that `canary` has no subscribers.
    var isTruthful = false
    var isConnected = false
    /// The number of published states at the last probe.
    var sentCount = 0
    var hasSaid = false
  }

  private let topics: HubTopics
  private let interests: ViewerLeases
  private let clock: any MonotonicTimeSource
  private let sentCount: @Sendable () -> Int
  private let send: @Sendable (_ topic: String) -> Void
  private let say: @Sendable (String) -> Void
  private let key = ViewerRequest.Key(viewer: SubscriberProbe.viewer, stream: .state)
  private let alarm: Alarm
  private let state = Guarded(State())

  /// - Parameters:
  ///   - sentCount: the number of states that were published until now
  ///   - send: publishes a short message, whose answer goes to `answered`
  ///   - say: called once with the reason why there is no probe
  init(
    topics: HubTopics, interests: ViewerLeases, clock: any MonotonicTimeSource = MonotonicClock(),
    sentCount: @escaping @Sendable () -> Int, send: @escaping @Sendable (_ topic: String) -> Void,
    say: @escaping @Sendable (String) -> Void
  ) {
    self.topics = topics
    self.interests = interests
    self.clock = clock
    alarm = Alarm(clock: clock)
    self.sentCount = sentCount
    self.send = send
    self.say = say
  }

  func connected() {
    let canary = "\(topics.root)/nobody-" + String(UInt32.random(in: .min ... .max), radix: 36)
    let count = sentCount()
    state.withLock { state in
      state.canary = canary
      state.isTruthful = false
      state.isConnected = true
      state.sentCount = count
    }
    send(canary)
  }

  /// Ends the probes until the next connection. Called for each failed attempt to connect, and at the end.
  func disconnected() {
    state.withLock { $0.isConnected = false }
    alarm.cancel()
  }

  /// Handles the broker's answer about a topic.
  func answered(_ topic: String, hasSubscribers: Bool) {
    if topic == topics.states {
      guard hasSubscribers else { return interests.end(key) }
      if !isAskedFor { interests.receive(Array(SubscriberProbe.interest.utf8), expirySeconds: nil, from: key) }
    } else if topic == state.withLock({ $0.canary }) {
      let isNews = state.withLock { state in
        state.isTruthful = !hasSubscribers
        defer { state.hasSaid = state.hasSaid || hasSubscribers }
        return hasSubscribers && !state.hasSaid
      }
      if isNews { say("the broker has a subscriber to all topics, or does not report its subscribers") }
      probe()
    }
  }

  /// Ends the probe's own request if a viewer requests states. Call this after each request of a viewer.
  func reviewed() { if isAskedFor { interests.end(key) } }

  private var isAskedFor: Bool { interests.isAskedFor(.state, byOthersThan: SubscriberProbe.viewer) }

  private func probe() {
    guard state.withLock({ $0.isConnected && $0.isTruthful }) else { return }
    // While states are published, the broker's answers to them show whether there are subscribers.
    let count = sentCount()
    let isQuiet = state.withLock { state in
      defer { state.sentCount = count }
      return state.sentCount == count
    }
    if isQuiet, !isAskedFor { send(topics.states) }
    let next = clock.now + SubscriberProbe.interval
    alarm.set(asking: { state.withLock { $0.isConnected } ? next : nil }) { [weak self] in self?.probe() }
  }
}
