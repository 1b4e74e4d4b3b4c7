import FoundationEssentials
import Fusion
import Hub

/// A hub's retained messages at its broker, as far as they are valid: every client that the broker admits may write
/// there.
public struct FleetHub: Sendable {
  public struct Health: Decodable, Sendable {
    public var version: String?
    public var board: String?
    public var viewers: [String]?
    public var lostValues: Int?
    public var refusedValues: Int?
    /// Its dashboard, as it says.
    public var page: String?

    /// - Parameter payload: the retained health of a hub; `nil` for anything else
    public static func read(_ payload: [UInt8]) -> Health? {
      try? JSONDecoder().decode(Health.self, from: Data(payload))
    }
  }

  /// A fence as its hub has said it last.
  public struct Fence: Decodable, Sendable {
    public var state: String
    public var event: String?
    /// Since when, before it was said.
    public var seconds: Double?
    public var beyond: Double?

    /// What people must be told: that the board has left, or that nobody knows where it is; `nil` otherwise.
    public var alarm: String? {
      switch (state, event) {
      case ("outside", "leave"): "left" + (beyond.map { ", \(Text.fixed(max(0, $0), 0)) m beyond the edge" } ?? "")
      case (_, "lost"): "no fix that tells on which side it is"
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

    /// Whether a hub may have said so, and it can be handed on as it is.
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

  /// Longer than any hub's: a longer message is none.
  static let mostReportBytes = 1 << 18

  /// What its reports take up.
  var byteCount: Int { reports.values.reduce(0) { $0 + $1.count } }

  /// The names of the topics other than reports.
  static let status = "status"

  private var isOnlineSaid: Bool?
  /// As they were said, each a JSON object in one line.
  public private(set) var reports: [Report: [UInt8]] = [:]

  public var isOnline: Bool { isOnlineSaid == true }
  /// It has removed its messages, as a renamed hub does.
  public var isGone: Bool { isOnlineSaid == nil && reports.isEmpty }
  public var status: String { isOnline ? "online" : isGone ? "gone" : "offline" }
  public var health: Health? { reports[.health].flatMap(Health.read) }
  /// By their names.
  public var fences: [(name: String, fence: Fence)] {
    let report = reports[.fences].flatMap { try? JSONDecoder().decode(Fences.self, from: Data($0)) }
    return (report?.fences ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
  /// Its dashboard, if that is an address that a browser may be sent to.
  public var page: String? { health?.page.flatMap { TileOrigin(of: $0) == nil ? nil : $0 } }
  public var last: FusedState? { reports[.last].flatMap { StateReport.read($0) } }

  /// Returns whether it is news.
  mutating func take(_ kind: Substring, _ payload: [UInt8]) -> Bool {
    if kind == FleetHub.status {
      let said = payload.isEmpty ? nil : payload == Array("online".utf8)
      defer { isOnlineSaid = said }
      return said != isOnlineSaid
    }
    guard let report = Report(rawValue: String(kind)), payload.count <= FleetHub.mostReportBytes,
      payload.isEmpty || report.isSound(payload)
    else { return false }
    // The parsed text is JSON; a line end in it would end the line of this report.
    let text = payload.isEmpty ? nil : payload.filter { $0 >= 0x20 }
    defer { reports[report] = text }
    return text != reports[report]
  }

  /// As one JSON object.
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
