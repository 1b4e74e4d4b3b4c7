import Publishing

@testable import Hub

extension Holder {
  /// A client as the hub's outputs create it, from the text by which it is listed: `watch[812]` belongs to `watch`,
  /// `gpsd 192.0.2.7:40022` to `gpsd 192.0.2.7`.
  static func client(_ label: String) -> Holder {
    let account = label.prefix { $0 != "[" && $0 != ":" }
    return Holder(label, payer: Payer(String(account)))
  }
}

extension EnergyByClient.Payers {
  /// The shares of these holders, each with one lease.
  init(holders: [String]) {
    var shares = PayerShares()
    for holder in holders { shares.add(.client(holder)) }
    self = shares.payers ?? .standby
  }
}
