/// Who pays for what is held, known from one bill to the next: a client that comes or leaves is one name more or less in what is known
/// of the others, however many these are.
///
/// Devices are held by what is derived from them, and that by clients, or by what is derived from it in turn. Whoever holds a device in
/// several ways has one share.
struct KnownPayers: Sendable {
  /// What somebody holds.
  enum Held: Hashable, Sendable {
    case device(String)
    /// What tells whether the board moves, of a device.
    case stillness(String)
    /// By the name under which it holds devices itself.
    case derived(String)
  }

  private struct Holders: Sendable {
    /// In the order in which they came.
    var names: [String] = []
    var counts: [String: Int] = [:]

    mutating func add(_ name: String) { counts[name, default: 0] += 1 }

    mutating func remove(_ name: String) {
      guard let count = counts[name] else { return }
      counts[name] = count > 1 ? count - 1 : nil
      counts.giveBackCapacity()
    }
  }

  /// As they were when they were last looked at.
  private var lists: [Held: Holders] = [:]
  /// Of all that are held together: most devices are held for the same.
  private var tallies: [Set<Held>: PayerTally] = [:]
  /// Of the present bill.
  private var bill: [Set<Held>: EnergyBills.Payers?] = [:]
  private var derived: Set<String> = []
  /// Who holds something for others that go over to another hub, and pays nothing.
  private let bridge: String
  /// How many names have been looked up.
  private(set) var stepCount = 0

  init(bridge: String) { self.bridge = bridge }

  /// How many names are kept, once for each list that they are in.
  var count: Int { lists.values.reduce(0) { $0 + $1.counts.count } + tallies.values.reduce(0) { $0 + $1.holderCount } }

  /// Bills all devices.
  ///
  /// - Parameters:
  ///   - derived: who holds at present what is derived from devices
  ///   - charge: asks for the payers of each device
  mutating func refresh(_ derived: [String: [String]], _ charge: (inout KnownPayers) -> Void) {
    self.derived = Set(derived.keys)
    for (name, holders) in derived { look(at: .derived(name), holders) }
    charge(&self)
    tallies = tallies.filter { bill[$0.key] != nil }
    bill = [:]
  }

  /// - Parameter holders: who holds it at present, in the order in which they came
  /// - Returns: `nil` where only a reload does: those pay on for whom it does
  mutating func payers(of held: Held, _ holders: [String]) -> EnergyBills.Payers? {
    look(at: held, holders)
    var reached: Set<Held> = []
    var seen: Set<Held> = []
    reach(held, &reached, &seen)
    if let payers = bill[reached] { return payers }
    if tallies[reached] == nil { tallies[reached] = tally(of: reached, from: held) }
    let payers = tallies[reached].flatMap { $0.payers(besides: derived, bridge: bridge) }
    bill[reached] = .some(payers)
    return payers
  }

  /// Notes who has come and who has left since.
  private mutating func look(at held: Held, _ names: [String]) {
    let before = lists[held]?.names ?? []
    // Quick where nothing has changed: it is the same list.
    if names == before { return }
    let shorter = min(names.count, before.count)
    var start = 0
    while start < shorter, names[start] == before[start] { start += 1 }
    var end = 0
    while end < shorter - start, names[names.count - 1 - end] == before[before.count - 1 - end] { end += 1 }
    let came = names[start..<(names.count - end)]
    let left = before[start..<(before.count - end)]
    stepCount += came.count + left.count
    // Who has only moved is never gone.
    lists[held, default: Holders()].names = names
    for name in came { lists[held]?.add(name) }
    for name in left { lists[held]?.remove(name) }
    // Its keys for themselves: whoever still has the dictionary when it changes has it copied, crowd and all.
    for reached in Array(tallies.keys) where reached.contains(held) {
      stepCount += came.count + left.count
      for name in came { tallies[reached]?.add(name) }
      for name in left { tallies[reached]?.remove(name) }
    }
  }

  /// What is held, and what holds that for others, in so far as somebody holds it for himself.
  private func reach(_ held: Held, _ reached: inout Set<Held>, _ seen: inout Set<Held>) {
    guard seen.insert(held).inserted, let list = lists[held] else { return }
    // A crowd is not asked one by one.
    let others =
      list.counts.count < derived.count
      ? list.counts.keys.filter { derived.contains($0) } : derived.filter { list.counts[$0] != nil }
    if list.counts.count > others.count { reached.insert(held) }
    for other in others { reach(.derived(other), &reached, &seen) }
  }

  /// Counted anew.
  private mutating func tally(of reached: Set<Held>, from held: Held) -> PayerTally {
    var tally = PayerTally()
    var seen: Set<Held> = []
    count(held, of: reached, &tally, &seen)
    stepCount += tally.holderCount
    return tally
  }

  private func count(_ held: Held, of reached: Set<Held>, _ tally: inout PayerTally, _ seen: inout Set<Held>) {
    guard seen.insert(held).inserted, let list = lists[held] else { return }
    let isReached = reached.contains(held)
    for name in list.names {
      if isReached { tally.add(name) }
      if derived.contains(name) { count(.derived(name), of: reached, &tally, &seen) }
    }
  }
}
