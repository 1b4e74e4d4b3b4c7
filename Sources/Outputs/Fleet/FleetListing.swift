import Hub

/// The hubs at a broker, by what they have left there.
public struct FleetListing: Sendable {
  /// More than anybody has; who may publish there could make up any number.
  private static let limit = 100_000
  /// What all reports may take up, a few hundred times what a thousand hubs have to say.
  private static let usualBytes = 64 << 20

  public private(set) var hubs: [String: FleetHub] = [:]
  private let mostBytes: Int
  private var byteCount = 0
  private let topic: String

  /// - Parameter topic: what the topics of all hubs begin with
  public init(topic: String) { self.init(topic: topic, mostBytes: FleetListing.usualBytes) }

  /// - Parameter mostBytes: what all reports may take up; what is beyond that is not taken
  init(topic: String, mostBytes: Int) {
    self.topic = topic
    self.mostBytes = mostBytes
  }

  /// Where it hears of them.
  ///
  /// - Parameter hub: the one that is wanted; `nil` for all
  public func subscriptions(hub: String?) -> [String] {
    ([FleetHub.status] + FleetHub.Report.allCases.map(\.rawValue)).map { "\(topic)/\(hub ?? "+")/\($0)" }
  }

  /// Takes a message of the broker's.
  ///
  /// - Returns: the hub of which it says something new
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

  /// A hub, and what it says of itself under the topic; `nil` where that is no hub's.
  func parts(of topic: String) -> (hub: String, kind: Substring)? {
    guard topic.hasPrefix(self.topic + "/") else { return nil }
    let levels = topic.dropFirst(self.topic.count + 1).split(separator: "/", omittingEmptySubsequences: false)
    return levels.count == 2 && FleetSettings.isName(levels[0]) ? (String(levels[0]), levels[1]) : nil
  }

  /// As if it had taken back what it had left.
  mutating func forget(_ hub: String) {
    byteCount -= hubs[hub]?.byteCount ?? 0
    hubs[hub] = FleetHub()
  }
}
