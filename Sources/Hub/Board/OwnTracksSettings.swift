import Publishing

/// A board file's settings for positions in OwnTracks' format.
public struct OwnTracksSettings: Equatable, Sendable {
  /// The whole topic, `owntracks/USER/DEVICE`; `nil` for a topic with the hub's name.
  public var topic: String?
  /// The one or two characters that maps show for the board; `nil` for the last two of the hub's name.
  public var trackerID: String?
  /// When a position is sent. Without `every` and `error` the hub wakes nothing, and sends the positions of devices
  /// that other clients keep awake.
  public var request: ViewRequest

  public init(topic: String? = nil, trackerID: String? = nil, request: ViewRequest = ViewRequest()) {
    self.topic = topic
    self.trackerID = trackerID
    self.request = request
  }
}

extension OwnTracksSettings {
  /// The keys of a request that make sense for a tracker.
  private static let keys: [ViewRequest.Key] = [.every, .accuracy, .within, .distance, .error]

  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    let topic = try section.string("topic")
    if let topic, !FleetSettings.isTopic(topic) || topic.split(separator: "/").count != 3 {
      throw section.wrong("topic", expected: "three names separated by slashes, such as \"owntracks/ada/boat\"")
    }
    let trackerID = try section.string("trackerId")
    if let trackerID, !FleetSettings.isName(trackerID) || trackerID.utf8.count > 2 {
      throw section.wrong("trackerId", expected: "one or two letters or digits")
    }
    var values = ViewRequest.Values()
    for key in OwnTracksSettings.keys { values.numbers[key] = try section.number(key.rawValue, in: key.range) }
    do throws(ViewRequest.Mistake) {
      self.init(topic: topic, trackerID: trackerID, request: try ViewRequest(values))
    } catch {
      throw section.wrong(error.key.rawValue, expected: "another value: it \(error.reason)")
    }
    try section.finish()
  }
}
