import Publishing

@testable import Hub

extension Holder {
  /// A client as the hub's outputs know it, by how it is listed: `watch[812]` of the account `watch`, `gpsd 192.0.2.7:40022` of
  /// `gpsd 192.0.2.7`.
  static func client(_ label: String) -> Holder {
    let account = label.prefix { $0 != "[" && $0 != ":" }
    return Holder(label, payer: Payer(String(account)))
  }
}

extension EnergyByClient.Payers {
  /// The payers for these holders, each with one lease.
  init(holders: [String]) {
    var shares = PayerShares()
    for holder in holders { shares.add(.client(holder)) }
    self = shares.payers ?? .standby
  }
}
