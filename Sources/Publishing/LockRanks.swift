import Guarding

// The order of the locks of this module. CONTRIBUTING ("Locks") has the whole order.
extension LockRank {
  static let lifecycle = LockRank(20, "LazyPublisher")
  /// A group's lock is held while the groups upstream of it take theirs.
  static let holderGroup = LockRank(30, "HolderGroup", mayNest: true)
  static let broadcast = LockRank(60, "Broadcast")
  static let waitGraph = LockRank(70, "WaitGraph")
}
