import Guarding

/// A service with a limited number of slots that a user keeps after the request, such as device holds. A slot ends when
/// its user releases it, or when a user with the right to make lasting changes (`LocalRights`) releases all slots.
protocol SlotOwner: AnyObject, Sendable {
  /// The kind of the service's slots, for example `holds`, as named in the answer to a release of all slots.
  var slotKind: String { get }

  /// Ends all slots.
  ///
  /// - Returns: the number of ended slots
  func releaseAll() -> Int
}

/// All services of a hub that have slots.
final class SlotOwners: Sendable {
  private struct Entry: Sendable {
    weak var holder: (any SlotOwner)?
  }

  private let entries = Guarded<[Entry]>([])

  /// Adds a service. The reference is weak, so a service that is deallocated is no longer in the list.
  func add(_ holder: some SlotOwner) {
    entries.withLock { entries in
      entries.removeAll { $0.holder == nil }
      entries.append(Entry(holder: holder))
    }
  }

  /// Ends all slots of all users.
  ///
  /// - Returns: the number of ended slots of each kind, sorted by kind
  func releaseAll() -> [(kind: String, count: Int)] {
    let holders = entries.withLock { $0.compactMap(\.holder) }
    var counts: [String: Int] = [:]
    for holder in holders { counts[holder.slotKind, default: 0] += holder.releaseAll() }
    return counts.sorted { $0.key < $1.key }.map { (kind: $0.key, count: $0.value) }
  }
}
