import Hub

/// Where a hub's things are at its broker. All but the states are retained.
public struct HubTopics: Equatable, Sendable {
  /// What all of them begin with: `sensorhub/boat-7`
  public let root: String

  /// - Parameters:
  ///   - topic: what all hubs' begin with
  ///   - hub: the name of one, or `+` for all
  public init(topic: String, hub: String) { root = "\(topic)/\(hub)" }

  /// `online`, or `offline` if it is gone, in order or not.
  public var status: String { root + "/status" }
  /// Version, board, viewers and counts of losses.
  public var health: String { root + "/health" }
  /// The devices as of the last change.
  public var devices: String { root + "/devices" }
  /// The last state that is known.
  public var last: String { root + "/last" }
  /// The fences as of the last change of one.
  public var fences: String { root + "/fences" }
  /// The retained messages of the hub, its status last.
  var retained: [String] { [health, devices, last, fences, status] }
  /// The states for viewers, one after the other.
  func state(_ stream: Interest.Stream) -> String { stream == .state ? states : "\(states)/\(stream.name)" }
  /// The states for viewers of the whole state.
  public var states: String { root + "/state" }
  /// The requests of viewers: those with chosen names, and those of a user of the broker, whose names are protected.
  var allInterest: [String] { [root + "/interest/+/+", root + "/interest/+/+/+"] }
  /// Where a viewer asks for the whole state, or for some parts of it.
  ///
  /// - Parameter viewer: its name, or its user's, a slash, and its name
  public func interest(of viewer: String) -> String { "\(root)/interest/\(viewer)/state" }
  /// The viewer that asks for something there; `nil` for a topic of another kind.
  public func viewer(ofInterest topic: String) -> String? { interest(of: topic)?.viewer }
  func interest(_ key: Interest.Key) -> String { "\(root)/interest/\(key.viewer)/\(key.stream.name)" }

  /// The viewer of a request topic; `nil` for a topic of another kind, and for names that a hub does not accept.
  func interest(of topic: String) -> Interest.Key? {
    let start = root + "/interest/"
    guard topic.hasPrefix(start) else { return nil }
    let levels = topic.dropFirst(start.count).split(separator: "/", omittingEmptySubsequences: false)
    guard (2...3).contains(levels.count), levels.dropLast().allSatisfy({ FleetSettings.isName($0) }),
      let stream = Interest.Stream(levels[levels.count - 1])
    else { return nil }
    return Interest.Key(viewer: levels.dropLast().joined(separator: "/"), stream: stream)
  }
}
