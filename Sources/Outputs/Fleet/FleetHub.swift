import FoundationEssentials
import Fusion
import Hub

/// The valid retained messages of a hub at its broker. Invalid ones are ignored, because any client of the broker may
/// have written them.
public struct FleetHub: Sendable {
  public struct Health: Decodable, Sendable {
    public var version: String?
    public var board: String?
    public var viewers: [String]?
    public var lostValues: Int?
    public var refusedValues: Int?
    /// The address of the hub's dashboard, as the hub reports it.
    public var page: String?

    /// - Parameter payload: the retained health of a hub
    /// - Returns: `nil` if the payload is invalid
    public static func read(_ payload: [UInt8]) -> Health? {
      try? JSONDecoder().decode(Health.self, from: Data(payload))
    }
  }

  /// A fence as the hub last reported it.
  public struct Fence: Decodable, Sendable {
    public var state: String
    public var event: String?
    /// The age of the fence's state when the hub reported it, in seconds.
    public var seconds: Double?
    public var beyond: Double?

    /// The fence's problem in words: the board has left it, or the board's side is unknown. `nil` without a problem.
    public var alarm: String? {
      switch (state, event) {
      case ("outside", "leave"): "left" + (beyond.map { ", \(Text.fixed(max(0, $0), 0)) m beyond the edge" } ?? "")
      case (_, "lost"): "no fix that shows on which side of the edge the hub is"
      default: nil
      }
    }
  }

  private struct Fences: Decodable {
    var fences: [String: Fence]
  }

  private struct Devices: Decodable {
    struct Condition: Decodable {
      var kind, summary: String
      var severity, nextStep: String?
    }
    struct Device: Decodable {
      var id, power: String
      var holders: [String]
      var conditions: [Condition]?
    }
    var devices: [Device]
  }

  /// A hub's reports about itself, by the names of its topics.
  public enum Report: String, CaseIterable, Sendable {
    case health, devices, fences, last

    /// Whether the payload is a valid report of this kind. Any client of the broker may have published it, so only a
    /// valid one is passed on.
    public func isSound(_ payload: [UInt8]) -> Bool {
      guard StrictJSON.isObject(payload) else { return false }
      switch self {
      case .health: return Health.read(payload) != nil
      case .devices: return (try? JSONDecoder().decode(Devices.self, from: Data(payload))) != nil
      case .fences: return (try? JSONDecoder().decode(Fences.self, from: Data(payload))) != nil
      case .last: return StateReport.read(payload) != nil
      }
    }
  }

  /// The longest accepted report, in bytes. No hub sends a longer one.
  static let mostReportBytes = 1 << 18

  /// The size of the stored reports, in bytes.
  var byteCount: Int { reports.values.reduce(0) { $0 + $1.count } }

  /// The last level of the topic that says whether the hub is online. It holds no report.
  static let status = "status"

  private var isOnlineSaid: Bool?
  /// The reports as received, but without control characters, each a JSON object in one line.
  public private(set) var reports: [Report: [UInt8]] = [:]

  public var isOnline: Bool { isOnlineSaid == true }
  /// Whether the hub has removed its messages, as a renamed hub does.
  public var isGone: Bool { isOnlineSaid == nil && reports.isEmpty }
  public var status: String { isOnline ? "online" : isGone ? "gone" : "offline" }
  public var health: Health? { reports[.health].flatMap(Health.read) }
  /// The fences, sorted by name.
  public var fences: [(name: String, fence: Fence)] {
    let report = reports[.fences].flatMap { try? JSONDecoder().decode(Fences.self, from: Data($0)) }
    return (report?.fences ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
  /// The address of the hub's dashboard, if it is safe to show as a link.
  public var page: String? { health?.page.flatMap { TileOrigin(of: $0) == nil ? nil : $0 } }
  public var last: FusedState? { reports[.last].flatMap { StateReport.read($0) } }

  /// Stores a report.
  ///
  /// - Parameters:
  ///   - kind: the last level of the topic
  ///   - payload: the report; empty if the hub has removed it
  /// - Returns: whether the report changes anything
  mutating func take(_ kind: Substring, _ payload: [UInt8]) -> Bool {
    if kind == FleetHub.status {
      let said = payload.isEmpty ? nil : payload == Array("online".utf8)
      defer { isOnlineSaid = said }
      return said != isOnlineSaid
    }
    guard let report = Report(rawValue: String(kind)), payload.count <= FleetHub.mostReportBytes,
      payload.isEmpty || report.isSound(payload)
    else { return false }
    // The text is valid JSON. A line break in it would end this report's line, so control characters are removed.
    let text = payload.isEmpty ? nil : payload.filter { $0 >= 0x20 }
    defer { reports[report] = text }
    return text != reports[report]
  }

  /// Writes the hub as one JSON object.
  public func write(_ name: String, to json: inout JSONWriter) {
    json.beginObject()
    json.member("hub", name)
    json.member("status", status)
    for report in Report.allCases {
      guard let text = reports[report] else { continue }
      json.key(dynamic: report.rawValue)
      json.value(text)
    }
    json.endObject()
  }
}

/// The hubs at a broker, built from their retained messages.
public struct FleetListing: Sendable {
  /// The maximum number of hubs. It exceeds any real fleet. Without it, a client that may publish at the broker could
  /// invent any number of hubs.
  private static let limit = 100_000
  /// The maximum size of the reports of all hubs together, in bytes: 64 MiB.
  private static let usualBytes = 64 << 20

  public private(set) var hubs: [String: FleetHub] = [:]
  private let mostBytes: Int
  private var byteCount = 0
  private let topic: String

  /// - Parameter topic: the first part of the topics of all hubs
  public init(topic: String) { self.init(topic: topic, mostBytes: FleetListing.usualBytes) }

  /// - Parameter mostBytes: the maximum size of all reports; reports beyond it are ignored
  init(topic: String, mostBytes: Int) {
    self.topic = topic
    self.mostBytes = mostBytes
  }

  /// The topics to subscribe to.
  ///
  /// - Parameter hub: the name of the only hub to list; `nil` for all
  public func subscriptions(hub: String?) -> [String] {
    ([FleetHub.status] + FleetHub.Report.allCases.map(\.rawValue)).map { "\(topic)/\(hub ?? "+")/\($0)" }
  }

  /// Processes a message of the broker.
  ///
  /// - Returns: the name of the hub that the message changes; `nil` if it changes none
  @discardableResult
  public mutating func take(_ topic: String, _ payload: [UInt8]) -> String? {
    guard let (name, kind) = parts(of: topic) else { return nil }
    guard hubs[name] != nil || !payload.isEmpty && hubs.count < FleetListing.limit else { return nil }
    guard byteCount + payload.count <= mostBytes || payload.isEmpty else { return nil }
    var hub = hubs[name] ?? FleetHub()
    let before = hub.byteCount
    let isNews = hub.take(kind, payload)
    byteCount += hub.byteCount - before
    hubs[name] = hub
    return isNews ? name : nil
  }

  /// Splits a topic into the hub and the kind of report; `nil` if the topic belongs to no hub.
  func parts(of topic: String) -> (hub: String, kind: Substring)? {
    guard topic.hasPrefix(self.topic + "/") else { return nil }
    let levels = topic.dropFirst(self.topic.count + 1).split(separator: "/", omittingEmptySubsequences: false)
    return levels.count == 2 && FleetSettings.isName(levels[0]) ? (String(levels[0]), levels[1]) : nil
  }

  /// Forgets a hub, as if it had removed its messages.
  mutating func forget(_ hub: String) {
    byteCount -= hubs[hub]?.byteCount ?? 0
    hubs[hub] = FleetHub()
  }
}
