import Hub

/// Where a hub's things are at its broker. All but the states are retained.
public struct HubTopics: Equatable, Sendable {
  /// What all of them begin with: `sensorhub/boat-7`
  public let root: String

  /// - Parameters:
  ///   - topic: what all hubs' begin with
  ///   - hub: the name of one, or `+` for all
  public init(topic: String, hub: String) { root = "\(topic)/\(hub)" }

  /// `online`, or `offline` where it is gone, with a word or without.
  public var status: String { root + "/status" }
  /// Version, board, viewers and what has been lost.
  public var health: String { root + "/health" }
  /// The devices as of the last change.
  public var devices: String { root + "/devices" }
  /// The last state that is known.
  public var last: String { root + "/last" }
  /// The fences as of the last change of one.
  public var fences: String { root + "/fences" }
  /// What the hub has the broker keep, with what says whether it is there last.
  var retained: [String] { [health, devices, last, fences, status] }
  /// The states that somebody looks at, one after the other.
  func state(_ stream: Interest.Stream) -> String { stream == .state ? states : "\(states)/\(stream.name)" }
  /// What there is for who has asked for the whole state.
  public var states: String { root + "/state" }
  /// What viewers ask for: those that are called as they like, and those of a user of the broker's, in whose name nobody else
  /// writes.
  var allInterest: [String] { [root + "/interest/+/+", root + "/interest/+/+/+"] }
  /// Where a viewer asks for the whole state, or for some parts of it.
  ///
  /// - Parameter viewer: its name, or its user's, a slash, and its name
  public func interest(of viewer: String) -> String { "\(root)/interest/\(viewer)/state" }
  /// The viewer that asks for something there; `nil` for a topic of another kind.
  public func viewer(ofInterest topic: String) -> String? { interest(of: topic)?.viewer }
  func interest(_ key: Interest.Key) -> String { "\(root)/interest/\(key.viewer)/\(key.stream.name)" }

  /// Who asks for what there; `nil` for a topic of another kind, and for names that a hub does not take.
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
