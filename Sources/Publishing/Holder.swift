import Synchronization

/// The reason for a source to run: a client, a schedule, or a part of the program.
///
/// ```swift
/// let display = Holder("display 7", id: HolderID(), payer: "displays")
/// let lease = celsius.subscribe(as: display, receiveValue: { show($0) })
/// ```
///
/// A derived publisher subscribes on behalf of its own subscribers: a client that subscribes to `celsius.map { … }`
/// as `display` also appears in the `holders` of the thermometer's `LazyPublisher`. The label is only for people.
/// Programs compare `id`, `payer` and `purpose`.
public struct Holder: Sendable {
  /// The identity of the holder, the same in every subscription it has.
  public let id: HolderID
  /// The name that lists and logs show, for example `gpsd 127.0.0.1:51512`.
  public let label: String
  /// The account charged for the energy of the source. `nil` for a holder that stands in for other holders, which
  /// remain charged.
  public let payer: Payer?
  /// Why the holder subscribes and leaves.
  public let purpose: Purpose

  public enum Purpose: Hashable, Sendable {
    /// A client that subscribes and leaves at any time.
    case client
    /// A schedule, whose times are known in advance.
    case schedule
    /// A part of the program that needs a source for the program's own work.
    case `internal`
  }

  /// - Parameters:
  ///   - id: by default the identity of the part of the program with this label
  ///   - payer: by default the account with the same name as the label
  public init(_ label: String, id: HolderID? = nil, payer: Payer, purpose: Purpose = .client) {
    self.init(label: label, id: id ?? HolderID(named: label), payer: payer, purpose: purpose)
  }

  public init(_ label: String, id: HolderID? = nil, purpose: Purpose = .client) {
    self.init(label: label, id: id ?? HolderID(named: label), payer: Payer(label), purpose: purpose)
  }

  private init(label: String, id: HolderID, payer: Payer?, purpose: Purpose) {
    (self.id, self.label, self.payer, self.purpose) = (id, label, payer, purpose)
  }

  /// A part of the program that keeps a source running, for example until clients have reconnected. It is not charged:
  /// the previous payers remain charged.
  public static func standIn(_ label: String) -> Holder {
    Holder(label: label, id: HolderID(named: label), payer: nil, purpose: .internal)
  }

  /// The same holder, with a label that describes this particular subscription, and optionally another purpose.
  public func labelled(_ label: String, purpose: Purpose? = nil) -> Holder {
    Holder(label: label, id: id, payer: payer, purpose: purpose ?? self.purpose)
  }
}

extension Holder: Hashable {
  // Holders with the same ID are nearly always equal, so hashing the ID is enough.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// Makes a holder for a part of the program from its name: `subscribe(as: "journal", …)`.
extension Holder: ExpressibleByStringInterpolation {
  public init(stringLiteral name: String) { self.init(name) }
}

/// The identity of a holder.
public struct HolderID: Hashable, Sendable {
  private enum Identity: Hashable, Sendable {
    case numbered(UInt64)
    case named(String)
  }

  private static let last = Atomic<UInt64>(0)

  private let identity: Identity

  /// Makes a unique identity, for example for one client connection.
  public init() { identity = .numbered(HolderID.last.add(1, ordering: .relaxed).newValue) }

  /// Makes the identity shared by all holders of this name, for example a part of the program.
  public init(named name: String) { identity = .named(name) }
}

/// The identity as text, for programs that compare holders: `#7`, or the name of a part of the program.
extension HolderID: CustomStringConvertible {
  public var description: String {
    switch identity {
    case .numbered(let number): "#\(number)"
    case .named(let name): name
    }
  }
}

/// The account that is charged for the energy that a source uses while it runs. Several holders may share one account,
/// so that a client keeps its account across connections.
public struct Payer: Hashable, Sendable, ExpressibleByStringInterpolation {
  public let name: String

  public init(_ name: String) { self.name = name }

  public init(stringLiteral name: String) { self.init(name) }
}

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
