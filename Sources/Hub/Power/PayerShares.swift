import Publishing

/// The payers of a device and their shares. Each holder has one share, however many leases it has.
///
/// The work for a holder that arrives or leaves does not grow with the number of holders.
struct PayerShares: Sendable {
  /// The number of leases of each holder.
  private var ways: [HolderID: Int] = [:]
  /// The number of holders of each payer.
  private var shares: [String: Int] = [:]
  /// The payers in the order of their arrival.
  private var order: [String] = []
  /// The number of holders that only stand in for other holders.
  private var standInCount = 0

  /// The number of holders.
  var holderCount: Int { ways.count }

  mutating func add(_ holder: Holder) {
    let before = ways[holder.id] ?? 0
    ways[holder.id] = before + 1
    if before > 0 { return }
    guard let payer = holder.payer.map(EnergyByClient.name) else {
      standInCount += 1
      return
    }
    let share = shares[payer] ?? 0
    shares[payer] = share + 1
    if share == 0 { order.append(payer) }
  }

  mutating func remove(_ holder: Holder) {
    guard let before = ways[holder.id] else { return }
    if before > 1 {
      ways[holder.id] = before - 1
      return
    }
    ways[holder.id] = nil
    ways.giveBackCapacity()
    guard let payer = holder.payer.map(EnergyByClient.name) else {
      standInCount -= 1
      return
    }
    guard let share = shares[payer] else { return }
    shares[payer] = share > 1 ? share - 1 : nil
    guard share == 1, let index = order.firstIndex(of: payer) else { return }
    order.remove(at: index)
    shares.giveBackCapacity()
  }

  /// The payers; `nil` if there are only stand-ins, so that the previous payers continue.
  var payers: EnergyByClient.Payers? {
    if order.isEmpty, standInCount > 0 { return nil }
    return EnergyByClient.Payers(
      shares: order.lazy.map { ($0, shares[$0] ?? 0) }, of: ways.count - standInCount)
  }
}
