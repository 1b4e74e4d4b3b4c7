import CSystemd
import FoundationEssentials
import Hub

/// The topics of a hub at its broker. All messages except the states are retained.
public struct HubTopics: Equatable, Sendable {
  /// The first part of all topics, for example `sensorhub/boat-7`.
  public let root: String

  /// - Parameters:
  ///   - topic: the first part of the topics of all hubs
  ///   - hub: the name of a hub, or `+` for all
  public init(topic: String, hub: String) { root = "\(topic)/\(hub)" }

  /// The topic of the status: `online`, or `offline` after the hub has ended, even by a crash.
  public var status: String { root + "/status" }
  /// The topic of the hub's health: its version, board, viewers and counts of losses.
  public var health: String { root + "/health" }
  /// The topic of the devices' status, published at each change.
  public var devices: String { root + "/devices" }
  /// The topic of the last known state.
  public var last: String { root + "/last" }
  /// The topic of the fences' status, published at each change.
  public var fences: String { root + "/fences" }
  /// The topics of the hub's retained messages, the status last.
  var retained: [String] { [health, devices, last, fences, status] }
  /// The topic of a stream of states for viewers.
  func state(_ stream: ViewerRequest.Stream) -> String { stream == .state ? states : "\(states)/\(stream.name)" }
  /// The topic of the states for viewers of the whole state.
  public var states: String { root + "/state" }
  /// The filters for the requests of viewers. One is for names that viewers choose, and one for names below a user of
  /// the broker, which the broker's access list protects.
  var allInterest: [String] { [root + "/interest/+/+", root + "/interest/+/+/+"] }
  /// The filters for the commands of viewers, for the same two kinds of names.
  var allCommands: [String] { [root + "/command/+/fence", root + "/command/+/+/fence"] }
  /// The topic of a viewer's commands about fences.
  public func fenceCommand(of viewer: String) -> String { "\(root)/command/\(viewer)/fence" }
  /// The topic of the answers to a viewer's commands about fences.
  public func fenceAnswer(to viewer: String) -> String { root + "/answer/" + "\(viewer)/fence" }
  /// The viewer that a command topic names; `nil` for a topic of another kind, and for names that a hub does not
  /// accept.
  func viewer(ofFenceCommand topic: String) -> String? {
    let levels = names(below: "/command/", of: topic) ?? []
    guard (2...3).contains(levels.count), levels.last == "fence",
      levels.dropLast().allSatisfy({ FleetSettings.isName($0) })
    else { return nil }
    return levels.dropLast().joined(separator: "/")
  }

  private func names(below start: String, of topic: String) -> [Substring]? {
    guard topic.hasPrefix(root + start) else { return nil }
    return topic.dropFirst((root + start).count).split(separator: "/", omittingEmptySubsequences: false)
  }

  /// The topic of a viewer's requests for the whole state, or for some parts of it.
  ///
  /// - Parameter viewer: the viewer's name, or its user, a slash, and its name
  public func interest(of viewer: String) -> String { "\(root)/interest/\(viewer)/state" }
  /// The viewer that a request topic names; `nil` for a topic of another kind.
  public func viewer(ofInterest topic: String) -> String? { interest(of: topic)?.viewer }
  func interest(_ key: ViewerRequest.Key) -> String { "\(root)/interest/\(key.viewer)/\(key.stream.name)" }

  /// The viewer and stream that a request topic names; `nil` for a topic of another kind, and for names that a hub
  /// does not accept.
  func interest(of topic: String) -> ViewerRequest.Key? {
    let levels = names(below: "/interest/", of: topic) ?? []
    guard (2...3).contains(levels.count), levels.dropLast().allSatisfy({ FleetSettings.isName($0) }),
      let stream = ViewerRequest.Stream(levels[levels.count - 1])
    else { return nil }
    return ViewerRequest.Key(viewer: levels.dropLast().joined(separator: "/"), stream: stream)
  }
}

/// The hub's name at its broker if the board file does not state one.
public enum HubIdentity {
  /// A name such as `hub-3f0c9a7d52e1`, constant until the system is installed again; `nil` if the system has no
  /// machine ID. The ID itself is private, and cannot be derived from the name.
  public static let ofMachine: String? = {
    var bytes = [UInt8](repeating: 0, count: 16)
    guard csystemd_hub_identity(&bytes) == 0 else { return nil }
    return "hub-" + bytes.prefix(6).map { (Int($0) < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }()
}

/// Identifies the run of a hub that published a health message. Two hubs of one name detect each other by this
/// identifier. This works even if the broker silently ends the connection of one hub when the other connects.
enum FleetInstance {
  private struct Said: Decodable {
    var instance: String?
  }

  /// - Parameter health: the retained health of a hub
  /// - Returns: `nil` if the health names no run
  static func read(_ health: [UInt8]) -> String? {
    (try? JSONDecoder().decode(Said.self, from: Data(health)))?.instance
  }
}
