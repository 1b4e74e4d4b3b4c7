/// Who pays for whom, known from one bill to the next: with each client that comes or leaves all who hold something are billed, and the
/// name of one who held something before is not taken apart again. Who has left is forgotten.
struct KnownPayers: Sendable {
  private struct Bill: Sendable {
    var holders: [String]
    var payers: EnergyBills.Payers
  }

  private var names: [String: String] = [:]
  /// Those of the present bill: most devices are held for the same.
  private var bills: [Bill] = []
  /// How many names have been taken apart.
  private(set) var parsedCount = 0

  /// How many names are kept.
  var count: Int { names.count }

  /// Bills all devices, and forgets all names once more than twice as many are kept as `bill` asked for.
  mutating func refresh(_ bill: (inout KnownPayers) -> Void) {
    bill(&self)
    let present = bills.reduce(0) { $0 + $1.holders.count }
    bills = []
    // Those who are there are taken apart again with the next bill: they are fewer than those who have left since.
    if names.count > 2 * present { names = [:] }
  }

  /// The same as `EnergyBills.Payers(holders:)`.
  mutating func payers(of holders: [String]) -> EnergyBills.Payers {
    // Compared, which is quick for the same strings: no name is looked up.
    if let bill = bills.first(where: { $0.holders == holders }) { return bill.payers }
    let payers = EnergyBills.Payers(holders: holders) { payer(of: $0) }
    bills.append(Bill(holders: holders, payers: payers))
    return payers
  }

  private mutating func payer(of holder: String) -> String {
    if let name = names[holder] { return name }
    let name = EnergyBills.payer(holder)
    names[holder] = name
    parsedCount += 1
    return name
  }
}
