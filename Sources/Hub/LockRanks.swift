import Guarding

// The order of the locks of this module. CONTRIBUTING ("Locks") has the whole order, with the ranks in between.
extension LockRank {
  static let boardExchange = LockRank(1, "Hub's exchange of boards")
  static let usageHistories = LockRank(50, "UsageHistories")
  static let energyLog = LockRank(50, "EnergyLog")
  static let powerRail = LockRank(50, "PowerRail")
}
