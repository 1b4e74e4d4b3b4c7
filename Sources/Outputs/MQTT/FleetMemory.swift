import Hub

/// A hub's earlier places at brokers: its retained messages under an earlier name remain there.
public final class FleetMemory: Sendable {
  /// The hub's name at a broker.
  struct Place: Codable, Equatable, Sendable {
    var broker: String
    var topic: String
    var hub: String
    /// Whether Home Assistant was told of it.
    var homeAssistant: Bool
    /// The published components; `nil` from a version of the hub that did not note them.
    var discovery: Discovery?

    init(_ settings: FleetSettings, hub: String) {
      broker = settings.broker.description
      topic = settings.topic
      self.hub = hub
      homeAssistant = settings.homeAssistant
    }

    /// Where Home Assistant was told of it.
    var discoveryTopic: String { discovery?.topic ?? HomeAssistantDiscovery.topicOfOldVersions(hub: hub) }

    var topics: HubTopics { HubTopics(topic: topic, hub: hub) }

    func isSame(as other: Place) -> Bool { broker == other.broker && topic == other.topic && hub == other.hub }
  }

  /// What Home Assistant was told of a hub.
  struct Discovery: Codable, Equatable, Sendable {
    var topic: String
    /// The platforms of its components, by their keys.
    var components: [String: String]
  }

  /// The oldest are forgotten first.
  private static let mostPlaces = 16

  private let file: StateFile<[StateEntry<Place>]>

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes its folder, if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 64 << 10, nothing: [], makeFolder: makeFolder)
  }

  /// Reads the disk.
  var places: [Place] { file.content.compactMap(\.value) }

  /// Takes down where the hub is. Waits for the disk.
  func enter(_ place: Place) {
    file.change { places in
      places.removeAll { $0.value?.isSame(as: place) ?? true }
      places.append(StateEntry(place))
      places.removeFirst(max(0, places.count - FleetMemory.mostPlaces))
    }
  }

  /// Forgets a place from which everything of the hub has been removed. Waits for the disk.
  func forget(_ place: Place) { file.change { places in places.removeAll { $0.value?.isSame(as: place) ?? true } } }
}
