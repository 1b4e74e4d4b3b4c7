import Hub

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

  /// Takes a message of the broker.
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
