import Guarding

/// A service that keeps places for users beyond their requests, until the users or root end them.
protocol PlaceHolding: AnyObject, Sendable {
  /// The kind of its places for the answer to root, for example `holds`.
  var placeKind: String { get }

  /// Ends all places.
  ///
  /// - Returns: the number of ended places
  func releaseAll() -> Int
}

/// All services of a hub that keep places.
final class PlaceHolders: Sendable {
  private struct Entry: Sendable {
    weak var holder: (any PlaceHolding)?
  }

  private let entries = Guarded<[Entry]>([])

  /// Adds a service for its lifetime.
  func add(_ holder: some PlaceHolding) {
    entries.withLock { entries in
      entries.removeAll { $0.holder == nil }
      entries.append(Entry(holder: holder))
    }
  }

  /// Ends all places of all users.
  ///
  /// - Returns: the number of each kind, sorted by the names of the kinds
  func releaseAll() -> [(kind: String, count: Int)] {
    let holders = entries.withLock { $0.compactMap(\.holder) }
    var counts: [String: Int] = [:]
    for holder in holders { counts[holder.placeKind, default: 0] += holder.releaseAll() }
    return counts.sorted { $0.key < $1.key }.map { (kind: $0.key, count: $0.value) }
  }
}
