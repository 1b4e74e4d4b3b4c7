/// How many hold something, by who pays for them.
struct PayerTally: Sendable {
  private struct Holder: Sendable {
    /// In how many ways it holds it.
    var count: Int
    let payer: String
  }

  private var holders: [String: Holder] = [:]
  /// How many holders each payer pays for.
  private var shares: [String: Int] = [:]
  /// The payers, in the order in which they came.
  private var order: [String] = []

  var holderCount: Int { holders.count }

  mutating func add(_ name: String) {
    if let holder = holders[name] {
      holders[name] = Holder(count: holder.count + 1, payer: holder.payer)
      return
    }
    let payer = EnergyBills.payer(name)
    holders[name] = Holder(count: 1, payer: payer)
    if shares[payer] == nil { order.append(payer) }
    shares[payer, default: 0] += 1
  }

  mutating func remove(_ name: String) {
    guard let holder = holders[name] else { return }
    if holder.count > 1 {
      holders[name] = Holder(count: holder.count - 1, payer: holder.payer)
      return
    }
    holders[name] = nil
    holders.giveBackCapacity()
    guard let share = shares[holder.payer] else { return }
    shares[holder.payer] = share > 1 ? share - 1 : nil
    guard share == 1, let index = order.firstIndex(of: holder.payer) else { return }
    order.remove(at: index)
    shares.giveBackCapacity()
  }

  /// - Parameters:
  ///   - derived: who holds it for others, and is no holder
  ///   - bridge: who pays nothing
  /// - Returns: `nil` where only the bridge is left
  func payers(besides derived: Set<String>, bridge: String) -> EnergyBills.Payers? {
    var hidden: [String: Int] = [:]
    var count = holders.count
    func hide(_ name: String) -> Bool {
      guard let holder = holders[name] else { return false }
      hidden[holder.payer, default: 0] += 1
      count -= 1
      return true
    }
    for name in derived { _ = hide(name) }
    if hide(bridge), count == 0 { return nil }
    return EnergyBills.Payers(
      shares: order.lazy.map { ($0, (shares[$0] ?? 0) - (hidden[$0] ?? 0)) }, of: count)
  }
}

extension Dictionary {
  /// Gives memory back once far fewer are left than there is room for: a dictionary keeps it for as many as there once were.
  mutating func giveBackCapacity() {
    if capacity > 64 + 4 * count { self = Dictionary(uniqueKeysWithValues: map { ($0.key, $0.value) }) }
  }
}
