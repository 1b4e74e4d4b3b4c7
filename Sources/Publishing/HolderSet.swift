/// Who holds something, each in however many ways. A holder that comes or leaves costs the same, however many there are.
public struct HolderSet: Sendable {
  private struct Entry: Sendable {
    var ways: Int
    /// Counts those who have come: the order of the list.
    let place: Int
  }

  private var entries: [Holder: Entry] = [:]
  private var lastPlace = 0

  public init() {}

  public var isEmpty: Bool { entries.isEmpty }

  public var count: Int { entries.count }

  /// In the order in which they came. Takes a copy of all.
  public var list: [Holder] { entries.sorted { $0.value.place < $1.value.place }.map(\.key) }

  /// Who came before all others that are there.
  public var first: Holder? { entries.min { $0.value.place < $1.value.place }?.key }

  public func contains(where isMet: (Holder) -> Bool) -> Bool { entries.keys.contains(where: isMet) }

  /// Adds one way in which a holder holds it; returns whether that is its first.
  public mutating func insert(_ holder: Holder) -> Bool {
    if let ways = entries[holder]?.ways {
      entries[holder]?.ways = ways + 1
      return false
    }
    lastPlace += 1
    entries[holder] = Entry(ways: 1, place: lastPlace)
    return true
  }

  /// Takes one way away; returns whether that was its last.
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
  /// Gives memory back once far fewer are left than there is room for: a dictionary keeps it for as many as there once were.
  public mutating func giveBackCapacity() {
    if capacity > 64 + 4 * count { self = Dictionary(uniqueKeysWithValues: map { ($0.key, $0.value) }) }
  }
}
