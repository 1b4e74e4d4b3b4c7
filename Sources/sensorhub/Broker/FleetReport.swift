import FoundationEssentials
import Fusion
import Glibc
import Outputs

/// What hubs have left at their broker.
struct FleetReport {
  private static let kinds = ["status", "health", "devices", "last"]
  /// More than anybody has; who may publish there could make up any number.
  private static let limit = 100_000

  struct Health: Decodable {
    var version: String?
    var board: String?
    var viewers: [String]?
    var lostValues: Int?
  }

  private struct Said: Decodable {
    var said: String
  }

  struct Hub {
    var status = "offline"
    var health: Health?
    var devices: [DevicesOfHub.Device] = []
    var last: FusedState?
    /// When the last state was said, in seconds since 1970.
    var lastAt: Double?
    /// As they were said, each JSON.
    fileprivate var texts: [String: [UInt8]] = [:]
  }

  private(set) var hubs: [String: Hub] = [:]
  private let topic: String

  init(topic: String) { self.topic = topic }

  /// - Parameter hub: the one that is wanted; `nil` for all
  func subscriptions(hub: String?) -> [String] { FleetReport.kinds.map { "\(topic)/\(hub ?? "+")/\($0)" } }

  mutating func take(_ message: BrokerConnection.Message) {
    guard message.topic.hasPrefix(topic + "/") else { return }
    let levels = message.topic.dropFirst(topic.count + 1).split(separator: "/", omittingEmptySubsequences: false)
    guard levels.count == 2 else { return }
    let name = String(levels[0])
    guard !message.payload.isEmpty, hubs[name] != nil || hubs.count < FleetReport.limit else { return }
    hubs[name, default: Hub()].take(String(levels[1]), message.payload)
  }

  static func viewers(of health: [UInt8]) -> [String] {
    (try? JSONDecoder().decode(Health.self, from: Data(health)))?.viewers ?? []
  }
}

extension FleetReport.Hub {
  fileprivate mutating func take(_ kind: String, _ payload: [UInt8]) {
    switch kind {
    case "status":
      status = payload == Array("online".utf8) ? "online" : "offline"
      return
    case "health":
      health = try? JSONDecoder().decode(FleetReport.Health.self, from: Data(payload))
      guard health != nil else { return }
    case "devices":
      guard let found = try? DevicesOfHub.read(payload) else { return }
      devices = found
    case "last":
      guard let state = StateReport.read(payload) else { return }
      last = state
      lastAt = FleetReport.time(of: payload)
    default: return
    }
    // What has been understood is JSON; a line's end in it would be the end of this one's.
    texts[kind] = payload.filter { $0 >= 0x20 }
  }

  private var isOnline: Bool { status == "online" }

  /// The devices that are awake; what was so when a hub left is not known to be so.
  private var awake: [DevicesOfHub.Device] {
    isOnline ? devices.filter { $0.power != "off" && $0.power != "asleep" } : []
  }

  func text(_ name: String) -> String {
    var lines = ["\(Text.printable(name)): \(status)"]
    if let health {
      let board = health.board.map { ", board '\(Text.printable($0))'" } ?? ""
      lines[0] += board + (health.version.map { ", version \(Text.printable($0))" } ?? "")
    }
    lines += awake.map { device in
      let holders = device.holders.map(Text.printable).joined(separator: ", ")
      return "  awake    \(Text.printable(device.id)), \(Text.printable(device.power)): "
        + (holders.isEmpty ? Text.printable(device.reason) : "for \(holders)")
    }
    if isOnline, awake.isEmpty, !devices.isEmpty { lines.append("  awake    nothing") }
    if let last { lines.append("  last     \(StateLine.text(last))\(age)") }
    if !devices.isEmpty {
      let energy = devices.reduce(0) { $0 + $1.energyMilliwattHours }
      lines.append("  so far   \(Text.fixed(energy, 3)) mWh")
    }
    if let lost = health?.lostValues, lost > 0 { lines.append("  lost     \(lost) values while the broker was away") }
    return lines.joined(separator: "\n")
  }

  private var age: String {
    guard let lastAt else { return "" }
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return ", said \(Text.duration(seconds: max(0, Double(now.tv_sec) - lastAt))) ago"
  }

  func json(_ name: String) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.member("hub", Text.printable(name))
    json.member("status", status)
    for kind in ["health", "devices", "last"] {
      guard let text = texts[kind] else { continue }
      json.key(dynamic: kind)
      json.value(text)
    }
    json.endObject()
    return String(decoding: json.bytes, as: UTF8.self)
  }
}

extension FleetReport {
  /// Reads `"said":"2026-11-21T03:07:19.000Z"`.
  fileprivate static func time(of payload: [UInt8]) -> Double? {
    guard let said = try? JSONDecoder().decode(Said.self, from: Data(payload)),
      let date = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(said.said)
    else { return nil }
    return date.timeIntervalSince1970
  }
}
