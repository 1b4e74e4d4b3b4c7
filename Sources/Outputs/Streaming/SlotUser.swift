import Glibc
import Guarding
import HardwareIO
import Hub

/// The user of a slot. Holds, recordings, downloads and the requests of viewers at a broker each have few slots, which
/// a user keeps after the request. One user gets at most half of them, except root and the hub's own user.
enum SlotUser: Hashable, Sendable {
  /// Root, or the user as which the hub runs.
  case keeper
  /// Another account of this machine.
  case account(UInt32)
  /// A machine on the network: `IPAddress.machine`.
  case machine([UInt8])
  /// A user of the broker. All viewers without a user of their own are one user.
  case broker(String)

  init(account: UInt32, own: UInt32 = geteuid()) {
    self = account == 0 || account == own ? .keeper : .account(account)
  }

  /// The user of a viewer. If the broker protects names, the viewer's name begins with its user and a slash.
  init(viewer: String) {
    self = .broker(
      viewer.split(separator: "/", maxSplits: 1).first.map { viewer.contains("/") ? String($0) : "" } ?? "")
  }

  /// The reason why this user gets no slot, as the rest of a sentence after "…: "; `nil` if the user gets one.
  ///
  /// - Parameters:
  ///   - places: the number of slots
  ///   - users: the users of the occupied slots
  func refusal(to places: Int, among users: some Sequence<SlotUser>) -> String? {
    var (all, ofOthers, own) = (0, 0, 0)
    for user in users {
      all += 1
      if user != .keeper { ofOthers += 1 }
      if user == self { own += 1 }
    }
    if self != .keeper {
      let share = max(1, places / 2)
      if own >= share { return "\(title) has \(own) of \(places), the most that one user may have" }
      // Some slots are reserved for root and the hub's own user; a broker has no such users.
      if !isOfBroker, ofOthers >= places - max(1, places / 4) {
        return "other users have \(ofOthers) of \(places), the most that they may have together"
      }
    }
    return all >= places ? "there are \(all) already, the maximum" : nil
  }

  private var isOfBroker: Bool { if case .broker = self { true } else { false } }

  private var title: String {
    switch self {
    case .keeper: "the hub's own user"
    case .account(let number): Accounts.title(ofUser: number)
    case .machine: "your machine"
    case .broker(""): "the viewers without a user name at the broker"
    case .broker(let name): "the broker's user \(name)"
    }
  }

  /// Whether the user may have slots for a long time: root, the hub's own user, and members of the service's group
  /// may.
  var isTrusted: Bool {
    switch self {
    case .keeper: true
    case .account(let number): Accounts.serviceGroup.map(Accounts.groups(ofUser: number).contains) == true
    case .machine, .broker: false
    }
  }
}

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
