import Hub

/// The addresses that the hub has used at brokers, the present one included. Its retained messages at an earlier
/// address may still be there.
public final class FleetMemory: Sendable {
  /// Where a hub's messages are: a broker, the first part of the topics, and the hub's name there.
  struct Address: Codable, Equatable, Sendable {
    var broker: String
    var topic: String
    var hub: String
    /// Whether the hub announced itself to Home Assistant.
    var homeAssistant: Bool
    /// The announcement to Home Assistant; `nil` without one, and from an old version of the hub, which did not record
    /// it.
    var discovery: Discovery?

    init(_ settings: FleetSettings, hub: String) {
      broker = settings.broker.description
      topic = settings.topic
      self.hub = hub
      homeAssistant = settings.homeAssistant
    }

    var discoveryTopic: String { discovery?.topic ?? HomeAssistantDiscovery.topicOfOldVersions(hub: hub) }

    var topics: HubTopics { HubTopics(topic: topic, hub: hub) }

    func isSame(as other: Address) -> Bool { broker == other.broker && topic == other.topic && hub == other.hub }
  }

  /// A hub's announcement to Home Assistant.
  struct Discovery: Codable, Equatable, Sendable {
    var topic: String
    /// The platforms of the components, by component key.
    var components: [String: String]
  }

  /// The maximum number of addresses; the oldest are forgotten first.
  private static let mostAddresses = 16

  private let file: StateFile<[StateEntry<Address>]>

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes the file's folder if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 64 << 10, nothing: [], makeFolder: makeFolder)
  }

  /// The stored addresses. Reads the disk.
  var addresses: [Address] { file.content.compactMap(\.value) }

  /// Stores the hub's present address. Waits for the disk.
  func enter(_ address: Address) {
    file.change { addresses in
      addresses.removeAll { $0.value?.isSame(as: address) ?? true }
      addresses.append(StateEntry(address))
      addresses.removeFirst(max(0, addresses.count - FleetMemory.mostAddresses))
    }
  }

  /// Forgets an address at which all messages of the hub have been removed. Waits for the disk.
  func forget(_ address: Address) {
    file.change { addresses in addresses.removeAll { $0.value?.isSame(as: address) ?? true } }
  }
}
