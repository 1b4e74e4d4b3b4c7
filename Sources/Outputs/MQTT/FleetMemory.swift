import Hub

/// Where a hub has been at brokers, over its runs: under a name that it has no more it leaves things behind there.
public final class FleetMemory: Sendable {
  /// What the hub was called at a broker.
  struct Place: Codable, Equatable, Sendable {
    var broker: String
    var topic: String
    var hub: String
    /// Whether Home Assistant was told of it.
    var homeAssistant: Bool

    init(_ settings: FleetSettings, hub: String) {
      broker = settings.broker.description
      topic = settings.topic
      self.hub = hub
      homeAssistant = settings.homeAssistant
    }

    var topics: HubTopics { HubTopics(topic: topic, hub: hub) }

    func isSame(as other: Place) -> Bool { broker == other.broker && topic == other.topic && hub == other.hub }
  }

  /// The oldest are forgotten first.
  private static let mostPlaces = 16

  private let file: StateFile<[StateEntry<Place>]>

  /// - Parameters:
  ///   - path: the file that it is kept in
  ///   - makeFolder: makes the folder of that, where there is none
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 64 << 10, nothing: [], makeFolder: makeFolder)
  }

  /// Reads the disk.
  var places: [Place] { file.content.compactMap(\.value) }

  /// Takes down where the hub is. Waits for the disk.
  ///
  /// - Returns: what was known of that place
  func enter(_ place: Place) -> Place? {
    var known: Place?
    file.change { places in
      known = places.lazy.compactMap(\.value).first { $0.isSame(as: place) }
      places.removeAll { $0.value?.isSame(as: place) ?? true }
      places.append(StateEntry(place))
      places.removeFirst(max(0, places.count - FleetMemory.mostPlaces))
    }
    return known
  }

  /// Forgets a place where nothing is left of the hub. Waits for the disk.
  func forget(_ place: Place) { file.change { places in places.removeAll { $0.value?.isSame(as: place) ?? true } } }
}
