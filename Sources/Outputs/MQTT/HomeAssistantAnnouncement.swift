import Guarding
import Hub
import MonotonicTime

/// Announces the hub to Home Assistant, and removes its announcement under an earlier name.
final class HomeAssistantAnnouncement: Sendable {
  /// The delay before a renamed hub announces itself to Home Assistant. In this time the earlier name is removed,
  /// unless another hub uses it now.
  private static let clearing = Duration.seconds(2)

  private struct State {
    /// The stored address with this session's broker, topic and name; `nil` if none is stored.
    var known: FleetMemory.Address?
    /// The description of this hub for Home Assistant.
    var discovery: HomeAssistantDiscovery?
    /// Whether the announcement waits until Home Assistant has removed the entities of an earlier name.
    var holdsDiscovery = false
    /// Whether this session has stored its address in the memory.
    var hasEntered = false
    var isOver = false
  }

  private let name: String
  private let version: String
  private let address: FleetMemory.Address
  /// The hub's earlier addresses at this broker.
  private let formerAddresses: [FleetMemory.Address]
  private let memory: FleetMemory?
  private let connection: MQTTConnection
  private let clock = MonotonicClock()
  private let state: Guarded<State>

  init(
    of name: String, version: String, _ address: FleetMemory.Address, known: [FleetMemory.Address],
    former: [FleetMemory.Address], memory: FleetMemory?, connection: MQTTConnection
  ) {
    self.name = name
    self.version = version
    self.address = address
    formerAddresses = former
    self.memory = memory
    self.connection = connection
    state = Guarded(State(known: known.first { $0.isSame(as: address) }))
  }

  /// Announces this hub from now on.
  func follow(_ hub: Hub) {
    guard address.homeAssistant else { return }
    let discovery = HomeAssistantDiscovery(hub, name, address.topics, version: version)
    let (isHeld, hasEntered) = state.withLock { state in
      state.discovery = discovery
      if !state.hasEntered { state.holdsDiscovery = hasToClear(discovery, known: state.known) }
      return (state.holdsDiscovery, state.hasEntered)
    }
    if !isHeld { connection.retain(HomeAssistantDiscovery.topic(of: name), discovery.message().json) }
    if hasEntered, connection.isConnected { enter() }
  }

  /// Whether Home Assistant knows this hub by an earlier name. The earlier entities must be removed first, because
  /// Home Assistant appends a number to a new entity of the same name.
  private func hasToClear(_ discovery: HomeAssistantDiscovery, known: FleetMemory.Address?) -> Bool {
    let topic = HomeAssistantDiscovery.topic(of: name)
    if let known, isOutdated(known, discovery) { return true }
    let addresses = formerAddresses + [known].compactMap { $0 }
    return addresses.contains { $0.homeAssistant && $0.discoveryTopic != topic }
  }

  /// Whether an old version of the hub gave its entities other names at Home Assistant.
  private func isOutdated(_ known: FleetMemory.Address, _ discovery: HomeAssistantDiscovery) -> Bool {
    known.homeAssistant && known.discovery == nil && discovery.differsFromOldVersions
  }

  /// Stores the hub's address with its announcement to Home Assistant, and removes an earlier announcement or its
  /// obsolete components at Home Assistant.
  func enter() {
    let topic = HomeAssistantDiscovery.topic(of: name)
    let (known, discovery, isFirst) = state.withLock { state in
      let isFirst = !state.hasEntered
      state.hasEntered = true
      return (state.known, state.discovery, isFirst)
    }
    var address = address
    var removed: [String: String] = [:]
    let message = discovery?.message()
    if let message, address.homeAssistant {
      address.discovery = FleetMemory.Discovery(topic: topic, components: message.components)
      // While the topics had another first part, the hub may have announced itself under the same discovery topic.
      let told = ([known] + formerAddresses).compactMap { address in address?.discovery }
      let before = told.first { $0.topic == topic }
      removed = (before?.components ?? [:]).filter { message.components[$0.key] == nil }
    }
    state.withLock { $0.known = address }
    memory?.enter(address)
    if let known, known.homeAssistant {
      if !address.homeAssistant || known.discoveryTopic != topic {
        connection.retain(known.discoveryTopic, [])
      } else if isFirst, let discovery, isOutdated(known, discovery) {
        // Remove the announcement. `tellDiscovery` publishes it again.
        connection.publish(topic, [])
      }
    }
    if let discovery, !removed.isEmpty { connection.publish(topic, discovery.message(removing: removed).json) }
    guard isFirst, state.withLock({ $0.holdsDiscovery }) else { return }
    _ = clock.schedule(at: clock.now + HomeAssistantAnnouncement.clearing) { [weak self] in self?.tellDiscovery() }
  }

  private func tellDiscovery() {
    let discovery = state.withLock { state in
      state.holdsDiscovery = false
      return state.isOver ? nil : state.discovery
    }
    if let discovery { connection.retain(HomeAssistantDiscovery.topic(of: name), discovery.message().json) }
  }

  /// Makes no further announcements. The retained one stays at the broker.
  func end() { state.withLock { $0.isOver = true } }
}
