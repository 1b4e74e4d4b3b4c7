import Guarding
import MonotonicTime
import Publishing

/// The states of hubs for the viewers in this program. The viewers of one hub share one request, which keeps the hub
/// awake as long as it has a viewer.
final class FleetViews: Sendable {
  /// The maximum number of hubs with viewers. Each one takes a connection to the broker.
  static let limit = 64

  private struct State {
    var publishers: [String: LazyPublisher<FleetView.News, Never>] = [:]
    var openCount = 0
  }

  private let options: MQTTOptions
  private let topic: String
  private let user: String?
  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())

  /// - Parameters:
  ///   - options: how each connection reaches the broker
  ///   - topic: the first part of the topics of all hubs
  ///   - user: the user at the broker in whose name requests are made; `nil` without a user
  init(
    _ options: MQTTOptions, topic: String, user: String?, clock: any MonotonicTimeSource = MonotonicClock()
  ) {
    self.options = options
    self.topic = topic
    self.user = user
    self.clock = clock
  }

  /// A hub's states. A subscription wakes the hub.
  ///
  /// - Parameter hub: the name of a known hub. Refuse unknown names before this call, because the publisher of each
  ///   name is kept
  func news(of hub: String) -> LazyPublisher<FleetView.News, Never> {
    state.withLock { state in
      if let publisher = state.publishers[hub] { return publisher }
      let publisher = LazyPublisher<FleetView.News, Never>(deriving: hub, replaysLatest: true) {
        [weak self] (run) throws(Never) in self?.view(at: hub, run.send) ?? Subscription {}
      }
      state.publishers[hub] = publisher
      return publisher
    }
  }

  private func view(at hub: String, _ receive: @escaping @Sendable (FleetView.News) -> Void) -> Subscription {
    let isRoom = state.withLock { state in
      defer { if state.openCount < FleetViews.limit { state.openCount += 1 } }
      return state.openCount < FleetViews.limit
    }
    guard isRoom else {
      receive(.error("\(FleetViews.limit) hubs are open already, the maximum"))
      return Subscription {}
    }
    let name = "fleet-" + String(UInt32.random(in: .min ... .max), radix: 36)
    let viewer = user.map { "\($0)/\(name)" } ?? name
    let view = FleetView(options, HubTopics(topic: topic, hub: hub), viewer: viewer, clock: clock)
    let lease = view.begin(receive)
    return Subscription { [self] in
      lease.cancel()
      state.withLock { $0.openCount -= 1 }
    }
  }
}

/// A viewer's request to one hub at a broker, and the hub's messages for it. Each request has its own connection:
/// when that connection ends for any reason, the broker removes the request.
final class FleetView: Sendable {
  enum News: Sendable {
    /// A state as the hub sent it, in one line of JSON, and the time of its arrival.
    case state([UInt8], MonotonicInstant)
    /// The reason why there are no states.
    case error(String)
  }

  /// The request: one state a second, with the parts that a map needs. The hub wakes no devices for other parts.
  private static let interest = #"{"rateHz":1,"parts":["position","motion"],"name":"fleet"}"#
  /// How long the broker keeps the request if the viewer does not renew it.
  private static let expiry = Duration.seconds(120)

  private let topics: HubTopics
  private let topic: String
  private let connection: MQTTConnection
  private let clock: any MonotonicTimeSource

  /// - Parameters:
  ///   - options: how to connect to the broker; the will, the subscriptions and the identifier are replaced
  ///   - viewer: the viewer's name at the hub, different for each viewer
  init(_ options: MQTTOptions, _ topics: HubTopics, viewer: String, clock: any MonotonicTimeSource) {
    self.clock = clock
    var options = options
    topic = topics.interest(of: viewer)
    options.identifier = "sensorhub-" + viewer.replacing("/", with: "-")
    options.subscriptions = [topics.states]
    options.will = MQTTOptions.Will(topic: topic, text: "")
    self.topics = topics
    connection = MQTTConnection(options)
  }

  /// Requests states until the returned lease is cancelled. Call this once.
  func begin(_ receive: @escaping @Sendable (News) -> Void) -> Subscription {
    do throws(MQTTError) {
      try connection.start { [topics, clock] event in
        switch event {
        case .received(topics.states, let payload, _, _):
          // Any client may publish on this topic, and the fixes that other viewers requested are not for this viewer.
          guard FleetHub.Report.last.isSound(payload), RequestedFixReport.outcome(payload) == nil else { return }
          receive(.state(payload.filter { $0 >= 0x20 }, clock.now))
        case .disconnected(let loss): receive(.error("the broker cannot be reached: \(loss)"))
        case .refused(let reason): receive(.error("the broker does not let you subscribe: \(reason)"))
        case .notTaken(let refusal): receive(.error("the broker does not accept \(refusal)"))
        case .connected, .received, .answered, .leftOut, .ended: break
        }
      }
    } catch {
      receive(.error(error.description))
    }
    say()
    let renewals = clock.ticks(every: FleetView.expiry / 2).subscribe(
      as: "fleet", receiveValue: { [self] _ in say() })
    // The age of the last state does not include the time of the suspend. This message replaces that state for viewers
    // that come later.
    let resuming = clock.onResume { _ in receive(.error("no state since this computer was suspended")) }
    return Subscription { [connection] in
      resuming.end()
      renewals.cancel()
      connection.end()
    }
  }

  private func say() {
    connection.retain(
      topic, Array(FleetView.interest.utf8), expirySeconds: UInt32(FleetView.expiry.components.seconds))
  }
}
