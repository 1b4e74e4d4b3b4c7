import Guarding
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
  private let state = Guarded(State())

  /// - Parameters:
  ///   - options: how each connection reaches the broker
  ///   - topic: the first part of the topics of all hubs
  ///   - user: the user at the broker in whose name requests are made; `nil` without a user
  init(_ options: MQTTOptions, topic: String, user: String?) {
    self.options = options
    self.topic = topic
    self.user = user
  }

  /// A hub's states. A subscription wakes the hub.
  ///
  /// - Parameter hub: the name of a known hub; the publisher of each name is kept, so unknown names must be refused
  ///   before
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
    let view = FleetView(options, HubTopics(topic: topic, hub: hub), viewer: user.map { "\($0)/\(name)" } ?? name)
    let lease = view.begin(receive)
    return Subscription { [self] in
      lease.cancel()
      state.withLock { $0.openCount -= 1 }
    }
  }
}
