import Guarding
import Publishing

/// The clients for which receivers are awake, as holders of the one lease that covers them all.
struct FixHolders: ~Copyable, Sendable {
  typealias ID = FixClients.ID

  private let group = HolderGroup("fixes")
  private let memberships = Guarded<[ID: HolderGroup.Membership]>([:])

  /// The clients as holders of the lease.
  var all: Holders { Holders(group) }

  var isEmpty: Bool { group.isEmpty }

  /// Adds clients as one change, and then removes others as one change.
  func change(adding new: [(id: ID, holders: Holders)], removing old: [ID]) {
    let added = group.add(new.map { $0.holders.map(\.forFix) })
    let removed = memberships.withLock { memberships in
      for (one, membership) in zip(new, added) { memberships[one.id] = membership }
      return old.compactMap { memberships.removeValue(forKey: $0) }
    }
    group.remove(removed)
  }
}
