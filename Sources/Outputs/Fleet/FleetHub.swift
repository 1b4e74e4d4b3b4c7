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
    struct Device: Decodable {
      var id, power: String
      var holders: [String]
    }
    var devices: [Device]
  }

  /// A hub's reports about itself, by the names of its topics.
  public enum Report: String, CaseIterable, Sendable {
    case health, devices, fences, last

    /// Whether a hub can have sent the payload, so that it can be passed on.
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
  /// The fences, by name.
  public var fences: [(name: String, fence: Fence)] {
    let report = reports[.fences].flatMap { try? JSONDecoder().decode(Fences.self, from: Data($0)) }
    return (report?.fences ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
  /// The address of the hub's dashboard, if it is safe to show as a link.
  public var page: String? { health?.page.flatMap { TileOrigin(of: $0) == nil ? nil : $0 } }
  public var last: FusedState? { reports[.last].flatMap { StateReport.read($0) } }

  /// Takes a report.
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
