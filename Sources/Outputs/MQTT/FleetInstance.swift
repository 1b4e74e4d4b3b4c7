import FoundationEssentials

/// Which hub's run has said how that hub is: two of one name find each other by it, also at brokers that end the connection of one
/// for the other without a word.
enum FleetInstance {
  private struct Said: Decodable {
    var instance: String?
  }

  /// - Parameter health: the retained health of a hub; `nil` if it names none
  static func read(_ health: [UInt8]) -> String? {
    (try? JSONDecoder().decode(Said.self, from: Data(health)))?.instance
  }
}
