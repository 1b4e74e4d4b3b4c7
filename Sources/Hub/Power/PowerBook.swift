import Guarding

/// What the hub knows of one device's power beyond this run: what its visits and starts have taught, and what it drew, hour by hour.
///
/// It outlives readers and reloads, and lies in a file between two runs of the hub (`PowerBooks`).
public final class PowerBook: Sendable {
  struct Content: Equatable, Sendable {
    var learned = LearnedLinger()
    var ledger = EnergyLedger()
  }

  /// The driver and the place: another device under the same name has everything to learn anew.
  let identity: String
  private let content = Guarded(Content())
  private let systemTime: @Sendable () -> Int64

  /// - Parameter systemTime: nanoseconds since 1970
  init(of identity: String, systemTime: @escaping @Sendable () -> Int64) {
    self.identity = identity
    self.systemTime = systemTime
  }

  public var learned: LearnedLinger { content.withLock { $0.learned } }

  func learn(_ lesson: (inout LearnedLinger) -> Void) { content.withLock { lesson(&$0.learned) } }

  func charge(_ milliwattHours: Double, to payers: EnergyBills.Payers, over seconds: Double) {
    let now = Double(systemTime()) / 1e9
    content.withLock { $0.ledger.charge(milliwattHours, to: payers, over: seconds, until: now) }
  }

  /// What it drew in the last hours, the one that is under way included.
  public func bills(ofLast hours: Int) -> EnergyBills {
    let now = Double(systemTime()) / 1e9
    return content.withLock { $0.ledger.bills(ofLast: hours, now: now) }
  }

  var snapshot: Content { content.withLock { $0 } }

  func restore(_ content: Content) { self.content.withLock { $0 = content } }
}
