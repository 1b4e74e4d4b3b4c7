import Guarding
import Hub
import MonotonicTime
import Publishing

/// The hub's session at one broker. It lasts until the broker's settings in the board file change.
final class FleetSession: Sendable {
  /// A broker that shuts down publishes the will of each client and closes all connections within this time. A broker
  /// whose connection lasts longer has not shut down.
  private static let lastWord = Duration.seconds(5)

  private struct State {
    var reports = FleetReports()
    var formerNames = FormerNames()
    /// Whether the hub will soon publish `online` again.
    var correctsStatus = false
    var isOver = false
    var whenOver: [Callback] = []
  }

  let settings: FleetSettings
  private let name: String
  private let sink: JournalSink
  private let topics: HubTopics
  private let connection: MQTTConnection
  private let publisher: FleetPublisher
  private let interests: ViewerLeases
  private let commands: FenceCommands
  private let ownTracks: OwnTracksFeed?
  private let watching: Subscription
  /// The probe for subscribers; `nil` if only viewers that publish a request receive states.
  private let probe: SubscriberProbe?
  private let traffic: OutputTraffic.Kind
  private let memory: FleetMemory?
  private let announcement: HomeAssistantAnnouncement
  /// The hub's earlier addresses at this broker.
  private let formerAddresses: [FleetMemory.Address]
  private let clock = MonotonicClock()
  private let state = Guarded(State())

  init(
    _ settings: FleetSettings, host: HubHost, sink: JournalSink, memory: FleetMemory?
  ) throws(FleetError) {
    var options = try FleetSession.options(settings)
    let address = FleetMemory.Address(settings, hub: options.name)
    let knownAddresses = memory?.addresses ?? []
    let formerAddresses = knownAddresses.filter { $0.broker == address.broker && !$0.isSame(as: address) }
    options.options.subscriptions += formerAddresses.map(\.topics.status)
    let topics = HubTopics(topic: settings.topic, hub: options.name)
    let connection = MQTTConnection(options.options)
    let publisher = FleetPublisher(host: host, connection: connection, topics: topics)
    let interests = ViewerLeases(
      host: host, send: { [weak publisher] in publisher?.send($0, $1) },
      sendFix: { [weak publisher] in publisher?.send($0, for: $1) },
      // Clear the retained request, so that clients that connect later do not receive an expired one.
      expired: { [weak connection] in connection?.clear(topics.interest($0)) })
    commands = FenceCommands(host: host) { [weak connection] in connection?.publish(topics.fenceAnswer(to: $0), $1) }
    ownTracks = settings.ownTracks.map { settings in
      OwnTracksFeed(settings, of: options.name, host: host) { [weak connection] in connection?.publish($0, $1) }
    }
    watching = interests.audience.subscribe(
      as: "watching",
      receiveValue: { [weak publisher, weak connection] audience in
        connection?.isWatched = !audience.viewers.isEmpty
        publisher?.watched(by: audience.viewers, rateHz: audience.rateHz)
      })
    if settings.subscribersWake {
      probe = SubscriberProbe(
        topics: topics, interests: interests, sentCount: { [weak publisher] in publisher?.count(of: .state) ?? 0 },
        send: { [weak connection] in connection?.probe($0) },
        say: { sink.write(.notice, "subscribers at \(settings.broker) wake nothing: \($0)") })
    } else {
      probe = nil
    }
    self.settings = settings
    name = options.name
    self.sink = sink
    self.topics = topics
    self.connection = connection
    self.publisher = publisher
    self.interests = interests
    traffic = host.traffic.mqtt
    self.memory = memory
    self.formerAddresses = formerAddresses
    announcement = HomeAssistantAnnouncement(
      of: options.name, version: host.version, address, known: knownAddresses, former: formerAddresses, memory: memory,
      connection: connection)
  }

  /// The connection options with the hub's identity at the broker.
  private static func options(
    _ settings: FleetSettings
  ) throws(FleetError) -> (name: String, options: MQTTOptions) {
    guard let name = settings.hub ?? HubIdentity.ofMachine else { throw .noName }
    let topics = HubTopics(topic: settings.topic, hub: name)
    var options = try MQTTOptions(
      settings, identifier: "sensorhub-\(name)",
      subscriptions: topics.allInterest + topics.allCommands + [topics.health, topics.status])
    options.will = MQTTOptions.Will(topic: topics.status, text: "offline")
    // Requests are retained messages, so a session need not survive: messages that the broker queues for an absent
    // hub would be outdated.
    options.sessionExpiry = .zero
    // Requests are short, so longer packets are refused.
    options.maximumPacketByteCount = 8 << 10
    return (name, options)
  }

  func begin(_ hub: Hub) {
    connection.retain(topics.status, Array("online".utf8))
    follow(hub)
    ownTracks?.begin()
    do throws(MQTTError) {
      try connection.start { [self] in receive($0) }
    } catch {
      sink.write(.warning, "cannot connect to the broker \(settings.broker): \(error)")
      receive(.ended)
    }
  }

  /// Publishes the status of this hub from now on.
  func follow(_ hub: Hub) {
    publisher.follow(hub)
    announcement.follow(hub)
  }

  /// Handles an event. Runs on the connection's thread.
  private func receive(_ event: MQTTConnection.Event) {
    switch event {
    case .connected:
      interests.connected()
      probe?.connected()
      announcement.enter()
      say(.notice, "joined \(settings.broker) as '\(name)'")
      sayLost()
    case .disconnected(let loss):
      interests.disconnected()
      probe?.disconnected()
      say(.warning, "the broker \(settings.broker) cannot be reached, trying again: \(loss)")
    case .refused(let reason):
      say(
        .warning,
        "the broker \(settings.broker) refuses subscriptions of '\(name)' under \(topics.root): \(reason)"
      )
    case .answered(let topic, let hasSubscribers): probe?.answered(topic, hasSubscribers: hasSubscribers)
    case .notTaken(let refusal): say(refusal)
    case .leftOut(let byteCount): leftOut(byteCount)
    case .received(let topic, let payload, let isRetained, let expirySeconds):
      if topic == topics.health { return heard(payload) }
      if topic == topics.status {
        // A broker that shuts down publishes its clients' wills last.
        if payload == Array("offline".utf8), !isRetained {
          interests.brokerLeaves()
          correctStatus()
        }
        return
      }
      if let former = formerAddresses.first(where: { $0.topics.status == topic }) {
        return hear(of: former, status: payload, isRetained: isRetained)
      }
      if let viewer = topics.viewer(ofFenceCommand: topic) {
        return commands.receive(payload, isRepeated: isRetained, from: viewer)
      }
      guard let key = topics.interest(of: topic) else {
        // An empty message only removes a retained one, so it is not counted.
        if !payload.isEmpty { traffic.clientRefused() }
        return
      }
      interests.receive(payload, expirySeconds: expirySeconds, isRepeated: isRetained, from: key)
      probe?.reviewed()
    case .ended:
      let callbacks = state.withLock { state in
        state.isOver = true
        defer { state.whenOver = [] }
        return state.whenOver
      }
      announcement.end()
      for callback in callbacks { callback() }
    }
  }

  /// Logs a text only if it differs from the last one, so that repeated attempts are logged once.
  private func say(_ priority: JournalSink.Priority, _ text: String) {
    if state.withLock({ $0.reports.isNew(text) }) { sink.write(priority, text) }
  }

  /// Removes the messages of the hub's earlier name, unless another hub uses that name now.
  private func hear(of former: FleetMemory.Address, status: [UInt8], isRetained: Bool) {
    let now = clock.now
    let decision = state.withLock { state in
      state.formerNames.take(status, isRetained: isRetained, of: former.hub, at: now, absence: absence)
    }
    switch decision {
    case .wait: break
    case .forget: memory?.forget(former)
    case .clear: clear(former)
    }
  }

  /// A broker drops a silent client after one and a half keep-alive intervals (MQTT 5, 3.1.2.10). This time is longer.
  private var absence: Duration { connection.options.keepAlive * 2 }

  /// Removes the retained messages under an earlier name, the status last. When the broker sends the empty status back,
  /// the session forgets the address.
  private func clear(_ former: FleetMemory.Address) {
    say(.notice, "cleared what this hub had published at \(settings.broker) under its former name '\(former.hub)'")
    // If only the first part of the topics has changed, the present address has the same discovery topic, which must
    // stay.
    if former.homeAssistant, former.discoveryTopic != HomeAssistantDiscovery.topic(of: name) {
      connection.retain(former.discoveryTopic, [])
    }
    for topic in former.topics.retained { connection.retain(topic, []) }
  }

  /// Publishes `online` again after `lastWord`, if the broker has not shut down by then. If it has not, another client
  /// must have published `offline`, and the retained message would stay wrong.
  private func correctStatus() {
    let isDue = state.withLock { state in
      defer { state.correctsStatus = true }
      return state.correctsStatus
    }
    if isDue { return }
    _ = clock.schedule(at: clock.now + FleetSession.lastWord) { [weak self] in self?.tellStatus() }
  }

  private func tellStatus() {
    let isOver = state.withLock { state in
      state.correctsStatus = false
      return state.isOver
    }
    guard !isOver, connection.isConnected else { return }
    connection.retain(topics.status, Array("online".utf8))
    say(
      .warning,
      "another client at \(settings.broker) has reported that '\(name)' is offline (\(topics.status)): the hub has corrected this"
    )
  }

  /// Handles a health message at the hub's own topic. The broker sends first the message of the hub's previous run, and
  /// then the message of this run. If the message of yet another run follows, another hub has the same name.
  private func heard(_ health: [UInt8]) {
    guard let instance = FleetInstance.read(health) else { return }
    let isTwin = state.withLock { $0.reports.isNewTwin(instance, ofRun: publisher.run) }
    guard isTwin else { return }
    sink.write(
      .warning,
      "another hub at \(settings.broker) is also called '\(name)', and the two replace each other there: each hub needs a name of "
        + "its own (mqtt.hub)")
  }

  /// Logs a refusal once for each topic and reason, because later values on the topic are refused too.
  private func say(_ refusal: MQTTRefusal) {
    traffic.valuesDropped(1)
    let isNew = state.withLock { $0.reports.isNew(refusal) }
    guard isNew else { return }
    sink.write(.warning, "the broker \(settings.broker) does not accept \(refusal)")
    publisher.tellHealth()
  }

  private func leftOut(_ byteCount: Int) {
    traffic.clientRefused()
    let isNew = state.withLock { $0.reports.isFirstLeftOut() }
    guard isNew else { return }
    sink.write(
      .warning,
      "the broker \(settings.broker) sent a message of \(byteCount) bytes, though a hub accepts at most "
        + "\(connection.options.maximumPacketByteCount): the hub drops such messages and counts them as refused clients (mqtt in /metrics); "
        + "check that this is the right broker")
  }

  private func sayLost() {
    let count = connection.lostCount
    let lost = state.withLock { $0.reports.newlyLost(of: count) }
    guard lost > 0 else { return }
    traffic.valuesDropped(lost)
    publisher.tellHealth()
    sink.write(
      .warning, "\(lost) values for \(settings.broker) are lost: the queue was full while the broker was disconnected")
  }

  /// Whether there is a connection to end.
  var isJoined: Bool { connection.isConnected }

  /// Ends all leases, and disconnects from the broker without waiting.
  func end() {
    probe?.disconnected()
    interests.end()
    commands.end()
    ownTracks?.end()
    publisher.end()
    connection.end()
  }

  /// Calls back once the connection is closed; at once if it is closed already.
  func whenOver(_ action: @escaping @Sendable () -> Void) {
    let isOver = state.withLock { state in
      if !state.isOver { state.whenOver.append(Callback(action)) }
      return state.isOver
    }
    if isOver { action() }
  }
}
