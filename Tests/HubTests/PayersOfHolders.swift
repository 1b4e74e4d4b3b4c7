@testable import Hub

extension EnergyBills.Payers {
  /// Who pays where these hold something, each in one way.
  init(holders: [String]) {
    var tally = PayerTally()
    for holder in holders { tally.add(holder) }
    self = tally.payers(besides: [], bridge: "reload") ?? .standby
  }
}
