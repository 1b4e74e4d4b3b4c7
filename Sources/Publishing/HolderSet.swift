/// A set of holders, with the number of subscriptions of each. Adding and removing a holder takes constant time.
public struct HolderSet: Sendable {
  private struct Entry: Sendable {
    var ways: Int
    /// The number of this holder in the order of arrival, for `list` and `first`.
    let place: Int
  }

  private var entries: [Holder: Entry] = [:]
  private var lastPlace = 0

  public init() {}

  public var isEmpty: Bool { entries.isEmpty }

  public var count: Int { entries.count }

  /// The holders in the order in which they joined. Each call sorts the holders again.
  public var list: [Holder] { entries.sorted { $0.value.place < $1.value.place }.map(\.key) }

  /// The holder that joined before all other holders.
  public var first: Holder? { entries.min { $0.value.place < $1.value.place }?.key }

  public func contains(where isMet: (Holder) -> Bool) -> Bool { entries.keys.contains(where: isMet) }

  /// Adds one subscription of a holder. Returns whether it is the holder's first.
  public mutating func insert(_ holder: Holder) -> Bool {
    if let ways = entries[holder]?.ways {
      entries[holder]?.ways = ways + 1
      return false
    }
    lastPlace += 1
    entries[holder] = Entry(ways: 1, place: lastPlace)
    return true
  }

  /// Removes one subscription of a holder. Returns whether it was the holder's last.
  public mutating func remove(_ holder: Holder) -> Bool {
    guard let ways = entries[holder]?.ways else { return false }
    if ways > 1 {
      entries[holder]?.ways = ways - 1
      return false
    }
    entries[holder] = nil
    entries.giveBackCapacity()
    return true
  }
}

extension Dictionary {
  /// Releases memory when the capacity exceeds four times the number of entries by more than 64. A dictionary never
  /// shrinks by itself.
  public mutating func giveBackCapacity() {
    if capacity > 64 + 4 * count { self = Dictionary(uniqueKeysWithValues: map { ($0.key, $0.value) }) }
  }
}
