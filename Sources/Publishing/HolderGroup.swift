import Guarding

/// Learns which holders start and stop holding a source.
///
/// The methods are called under the group's lock. They may record the change but must not call a publisher.
public protocol HolderObserver: Sendable {
  func came(_ holders: [Holder])
  func left(_ holders: [Holder])
}

/// The holders of one publisher. Upstream groups are informed of each change.
///
/// Each derived publisher has a group and subscribes upstream for it. So a source sees the clients at the end
/// of the chain rather than the publishers in between. A change is passed on, as one change, up to the sources. A
/// group keeps its own lock while it takes the upstream lock, never the reverse. An upstream group therefore always
/// contains the holders of the groups below it.
public final class HolderGroup: Sendable {
  /// One subscription's entry in a group: a single holder, or all holders of another group.
  public struct Membership: Sendable {
    fileprivate let holders: Holders
    /// The number of the other group's link to this group; 0 for a single holder.
    fileprivate let link: Int

    /// The holder that messages name when this subscription begins.
    var comer: Holder { holders.comer }
    /// The holder that messages name when this subscription ends.
    var leaver: Holder { holders.leaver }
  }

  private struct Link: Sendable {
    let id: Int
    let upstream: HolderGroup
    let change: HolderChange?
  }

  private struct State {
    var holders = HolderSet()
    var links: [Link] = []
    var lastLink = 0
    var lastLeft: Holder?
  }

  /// The name to use in messages when the group has no holder.
  fileprivate let label: String
  private let observer: (any HolderObserver)?
  private let state = Guarded(State(), rank: .holderGroup)

  public init(_ label: String, observer: (any HolderObserver)? = nil) {
    self.label = label
    self.observer = observer
  }

  /// The holders, in the order in which they joined.
  public var list: [Holder] { state.withLock { $0.holders.list } }

  public var isEmpty: Bool { state.withLock { $0.holders.isEmpty } }

  func add(_ holders: Holders) -> Membership {
    switch holders.root {
    case .one(let holder):
      apply([holder], areComing: true, through: holders.change)
      return Membership(holders: holders, link: 0)
    case .all(let group): return Membership(holders: holders, link: group.link(to: self, through: holders.change))
    }
  }

  func remove(_ membership: Membership) {
    let holders = membership.holders
    switch holders.root {
    case .one(let holder): apply([holder], areComing: false, through: holders.change)
    case .all(let group): group.unlink(membership.link)
    }
  }

  /// Adds several subscriptions. All single holders among them are added as one change.
  public func add(_ all: [Holders]) -> [Membership] {
    apply(all.compactMap(\.single), areComing: true, through: nil)
    return all.map { $0.single == nil ? add($0) : Membership(holders: $0, link: 0) }
  }

  /// Removes several subscriptions. All single holders among them are removed as one change.
  public func remove(_ memberships: [Membership]) {
    apply(memberships.compactMap(\.holders.single), areComing: false, through: nil)
    for membership in memberships where membership.holders.single == nil { remove(membership) }
  }

  private func link(to upstream: HolderGroup, through change: HolderChange?) -> Int {
    state.withLock { state in
      state.lastLink += 1
      state.links.append(Link(id: state.lastLink, upstream: upstream, change: change))
      if !state.holders.isEmpty { upstream.apply(state.holders.list, areComing: true, through: change) }
      return state.lastLink
    }
  }

  private func unlink(_ id: Int) {
    state.withLock { state in
      guard let index = state.links.firstIndex(where: { $0.id == id }) else { return }
      let link = state.links.remove(at: index)
      if !state.holders.isEmpty { link.upstream.apply(state.holders.list, areComing: false, through: link.change) }
    }
  }

  private func apply(_ holders: [Holder], areComing: Bool, through change: HolderChange?) {
    state.withLock { state in
      let news = holders.compactMap { holder -> Holder? in
        let holder = change?.make(holder) ?? holder
        let isNews = areComing ? state.holders.insert(holder) : state.holders.remove(holder)
        return isNews ? holder : nil
      }
      guard let last = news.last else { return }
      if !areComing { state.lastLeft = last }
      if let observer { if areComing { observer.came(news) } else { observer.left(news) } }
      for link in state.links { link.upstream.apply(news, areComing: areComing, through: link.change) }
    }
  }

  /// The holder that joined first.
  fileprivate var first: Holder? { state.withLock { $0.holders.first } }

  /// The holder that left last; `nil` if the group has a holder now, or never had one.
  fileprivate var lastLeft: Holder? { state.withLock { $0.holders.isEmpty ? $0.lastLeft : nil } }
}

/// A function that replaces a holder's description by one that fits a particular subscription.
struct HolderChange: Sendable {
  let make: @Sendable (Holder) -> Holder
}

/// The holders that a subscription is made for: one holder, or the current holders of a derived publisher.
public struct Holders: Sendable {
  fileprivate enum Root: Sendable {
    case one(Holder)
    case all(HolderGroup)
  }

  fileprivate let root: Root
  fileprivate var change: HolderChange?

  public init(_ holder: Holder) { root = .one(holder) }

  public init(_ group: HolderGroup) { root = .all(group) }

  /// The same holders, each replaced by what `change` returns for it.
  public func map(_ change: @escaping @Sendable (Holder) -> Holder) -> Holders {
    var mapped = self
    let before = self.change
    mapped.change = HolderChange { change(before?.make($0) ?? $0) }
    return mapped
  }

  /// The holder, if this is a single one.
  fileprivate var single: Holder? {
    if case .one(let holder) = root { changed(holder) } else { nil }
  }

  /// The label of the single holder, or of the one that joined first, or of the group if it is empty. For messages
  /// only.
  public var label: String { comer.label }

  fileprivate var comer: Holder {
    switch root {
    case .one(let holder): changed(holder)
    case .all(let group): group.first.map(changed) ?? Holder(group.label, purpose: .internal)
    }
  }

  fileprivate var leaver: Holder {
    switch root {
    case .one(let holder): changed(holder)
    case .all(let group): group.lastLeft.map(changed) ?? Holder(group.label, purpose: .internal)
    }
  }

  private func changed(_ holder: Holder) -> Holder { change?.make(holder) ?? holder }
}
