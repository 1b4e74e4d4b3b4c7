import Guarding
import Hub
import MonotonicTime
import Publishing

/// The hub at one broker, from when its board file says so until that says otherwise.
final class FleetSession: Sendable {
  private struct Refusal: Hashable {
    var topic: String
    var reason: MQTTRefusal.Reason
  }

  /// Different refusals that are said; viewers make up topics.
  private static let mostRefusals = 32

  private struct State {
    /// What was last said of the connection.
    var said: String?
    var lostCount = 0
    /// What of its own the broker does not take, as far as it was said.
    var refusals: Set<Refusal> = []
    /// What the broker has of the hub's health is its own.
    var hasHeardItself = false
    var hasSaidTwin = false
    var isOver = false
    var whenOver: [Callback] = []
  }

  let settings: FleetSettings
  private let name: String
  private let version: String
  private let sink: JournalSink
  private let topics: HubTopics
  private let connection: MQTTConnection
  private let publisher: FleetPublisher
  private let interests: InterestLeases
  private let traffic: OutputTraffic.Kind
  private let state = Guarded(State())

  init(_ settings: FleetSettings, host: HubHost, sink: JournalSink) throws(FleetObstacle) {
    let options = try FleetSession.options(settings)
    let topics = HubTopics(topic: settings.topic, hub: options.name)
    let connection = MQTTConnection(options.options)
    let publisher = FleetPublisher(host: host, connection: connection, topics: topics)
    let interests = InterestLeases(
      host: host, send: { [weak publisher] in publisher?.send($0, $1) },
      changed: { [weak publisher] in publisher?.watched(by: $0, rateHz: $1) },
      // Who comes to the broker later finds nothing that is over.
      expired: { [weak connection] in connection?.retain(topics.interest($0), []) })
    self.settings = settings
    name = options.name
    version = host.version
    self.sink = sink
    self.topics = topics
    self.connection = connection
    self.publisher = publisher
    self.interests = interests
    traffic = host.traffic.mqtt
  }

  /// Who the hub is at the broker, and how it comes there.
  private static func options(
    _ settings: FleetSettings
  ) throws(FleetObstacle) -> (name: String, options: MQTTOptions) {
    guard let name = settings.hub ?? HubIdentity.ofMachine else { throw .noName }
    let topics = HubTopics(topic: settings.topic, hub: name)
    var options = try MQTTOptions(
      settings, identifier: "sensorhub-\(name)", subscriptions: [topics.allInterest, topics.health])
    options.will = MQTTOptions.Will(topic: topics.status, text: "offline")
    // Interest is retained: what a broker would keep for a hub that is away could only be out of date.
    options.sessionExpiry = .zero
    // What is asked for is short.
    options.maximumPacketByteCount = 8 << 10
    return (name, options)
  }

  func begin(_ hub: Hub) {
    connection.retain(topics.status, Array("online".utf8))
    follow(hub)
    do throws(MQTTError) {
      try connection.start { [self] in receive($0) }
    } catch {
      sink.write(.warning, "the broker \(settings.broker) is not joined: \(error)")
      receive(.ended)
    }
  }

  /// Tells of this hub from now on.
  func follow(_ hub: Hub) {
    publisher.follow(hub)
    guard settings.homeAssistant else { return }
    connection.retain(
      HomeAssistantDiscovery.topic(of: name), HomeAssistantDiscovery(hub, name, topics, version: version).json)
  }

  /// On the connection's thread.
  private func receive(_ event: MQTTConnection.Event) {
    switch event {
    case .connected:
      interests.connected()
      say(.notice, "joined \(settings.broker) as '\(name)'")
      sayLost()
    case .disconnected(let reason):
      interests.disconnected()
      say(.warning, "the broker \(settings.broker) is not reached, and tried again: \(reason)")
    case .refused(let reason):
      say(.warning, "the broker \(settings.broker) does not let '\(name)' have \(topics.allInterest): \(reason)")
    case .notTaken(let refusal): say(refusal)
    case .received(let topic, let payload, let isRetained, let expirySeconds):
      if topic == topics.health { return heard(payload) }
      guard let key = topics.interest(of: topic) else {
        // What is cleared does no harm.
        if !payload.isEmpty { traffic.clientRefused() }
        return
      }
      interests.receive(payload, expirySeconds: expirySeconds, isRepeated: isRetained, from: key)
    case .ended:
      let callbacks = state.withLock { state in
        state.isOver = true
        defer { state.whenOver = [] }
        return state.whenOver
      }
      for callback in callbacks { callback() }
    }
  }

  /// Once for each change, not once for each try.
  private func say(_ priority: JournalSink.Priority, _ text: String) {
    let isNew = state.withLock { state in
      defer { state.said = text }
      return state.said != text
    }
    if isNew { sink.write(priority, text) }
  }

  /// What it has said of its health comes back to it. Before that come the words of the run before this one.
  private func heard(_ health: [UInt8]) {
    guard let instance = FleetInstance.read(health) else { return }
    let isTwin = state.withLock { state in
      if instance == publisher.run { state.hasHeardItself = true }
      guard instance != publisher.run, state.hasHeardItself, !state.hasSaidTwin else { return false }
      state.hasSaidTwin = true
      return true
    }
    guard isTwin else { return }
    sink.write(
      .warning,
      "another hub is called '\(name)' at \(settings.broker) too, and the two are in each other's place there: each needs a name of "
        + "its own (mqtt.hub)")
  }

  /// Once for each topic and reason: a value that is not taken is followed by others.
  private func say(_ refusal: MQTTRefusal) {
    traffic.valuesDropped(1)
    let isNew = state.withLock { state in
      state.refusals.count < FleetSession.mostRefusals
        && state.refusals.insert(Refusal(topic: refusal.topic, reason: refusal.reason)).inserted
    }
    guard isNew else { return }
    sink.write(.warning, "the broker \(settings.broker) does not take \(refusal)")
    publisher.tellHealth()
  }

  private func sayLost() {
    let count = connection.lostCount
    let lost = state.withLock { state in
      defer { state.lostCount = count }
      return count - state.lostCount
    }
    guard lost > 0 else { return }
    traffic.valuesDropped(lost)
    publisher.tellHealth()
    sink.write(.warning, "\(lost) values for \(settings.broker) are lost: there was no room for more while it was away")
  }

  /// Whether there is anybody to take leave of.
  var isJoined: Bool { connection.isConnected }

  /// Ends all leases, and takes its leave of the broker without waiting for it.
  func end() {
    interests.end()
    publisher.end()
    connection.end()
  }

  /// Calls back once the broker has been left; at once where it has been.
  func whenOver(_ action: @escaping @Sendable () -> Void) {
    let isOver = state.withLock { state in
      if !state.isOver { state.whenOver.append(Callback(action)) }
      return state.isOver
    }
    if isOver { action() }
  }
}
