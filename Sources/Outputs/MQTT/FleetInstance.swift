import FoundationEssentials

/// Identifies the run of a hub that published a health message. Two hubs of one name detect each other by this
/// identifier, even if the broker silently ends the connection of one hub when the other connects.
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
