import Guarding

/// Hears who comes to hold something and who leaves it.
///
/// It is told under a lock of the group's: it takes notes, and calls nothing of a publisher's.
public protocol HolderObserver: Sendable {
  func came(_ holders: [Holder])
  func left(_ holders: [Holder])
}

/// Those for whom something is held, as they come and leave; what is held for them upstream hears of each of them.
///
/// A derived publisher has one, and subscribes for it: so a source knows the clients in the end, and not the links between. Who comes or
/// leaves is passed on as one change, up to the sources. Each group has a lock, and takes those upstream while it holds its own, never the
/// other way round; so a group upstream always has what the ones below it have.
public final class HolderGroup: Sendable {
  /// One way in which something is held: by a holder, or by all of a group.
  public struct Membership: Sendable {
    fileprivate let holders: Holders
    /// The one of the group that these are, where they are one; 0 else.
    fileprivate let link: Int

    /// Who has just come in this way.
    var comer: Holder { holders.comer }
    /// Who has just left in this way.
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

  /// What holds something for others, where none of them is there to be named.
  fileprivate let label: String
  private let observer: (any HolderObserver)?
  private let state = Guarded(State())

  public init(_ label: String, observer: (any HolderObserver)? = nil) {
    self.label = label
    self.observer = observer
  }

  /// In the order in which they came.
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

  /// Holds something for these as well: the single ones come together, as one change.
  public func add(_ all: [Holders]) -> [Membership] {
    apply(all.compactMap(\.single), areComing: true, through: nil)
    return all.map { $0.single == nil ? add($0) : Membership(holders: $0, link: 0) }
  }

  /// These go, together in the same way.
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

  /// Who came first of those who are there.
  fileprivate var first: Holder? { state.withLock { $0.holders.first } }

  /// Who left last, if nobody is there.
  fileprivate var lastLeft: Holder? { state.withLock { $0.holders.isEmpty ? $0.lastLeft : nil } }
}

/// Describes a holder by what it holds.
struct HolderChange: Sendable {
  let make: @Sendable (Holder) -> Holder
}

/// For whom somebody subscribes: one holder, or all that a derived publisher has at each time.
public struct Holders: Sendable {
  fileprivate enum Root: Sendable {
    case one(Holder)
    case all(HolderGroup)
  }

  fileprivate let root: Root
  fileprivate var change: HolderChange?

  public init(_ holder: Holder) { root = .one(holder) }

  public init(_ group: HolderGroup) { root = .all(group) }

  /// The same, each described by what it holds in this way.
  public func map(_ change: @escaping @Sendable (Holder) -> Holder) -> Holders {
    var mapped = self
    let before = self.change
    mapped.change = HolderChange { change(before?.make($0) ?? $0) }
    return mapped
  }

  /// The holder, where it is one.
  fileprivate var single: Holder? {
    if case .one(let holder) = root { changed(holder) } else { nil }
  }

  /// The holder, or the one that came first: for messages.
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
