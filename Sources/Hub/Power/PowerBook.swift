import Devices
import Guarding

/// What the hub knows of one device's power beyond this run: what its visits and starts have taught, and what it drew, hour by hour.
///
/// It outlives readers and reloads, and lies in a file between two runs of the hub (`PowerBooks`).
public final class PowerBook: Sendable {
  struct Content: Equatable, Sendable {
    var learned = LearnedLinger()
    var acquisitions = AcquisitionTimes()
    /// What starts take behind each way to rest, of a receiver for which that is chosen.
    var starts: [ReceiverSleep: RestartCosts] = [:]
    /// Whose starts these were, of receivers that say what tells them from others of their kind.
    var uniqueID: String?
    var ledger = EnergyLedger()
  }

  /// What was drawn stands under a device's name, whatever had that name: another book for it goes on in the same ledger.
  private final class SharedLedger: Sendable {
    let ledger = Guarded(EnergyLedger())
  }

  /// The driver and the place: another device under the same name has everything to learn anew.
  let identity: String
  private let lessons = Guarded(LearnedLinger())
  private let times = Guarded(AcquisitionTimes())
  private let startsBehindSleep = Guarded<[ReceiverSleep: RestartCosts]>([:])
  private let owner = Guarded<String?>(nil)
  private let shared: SharedLedger
  private let systemTime: @Sendable () -> Int64

  /// - Parameters:
  ///   - predecessor: of another device under the same name
  ///   - systemTime: nanoseconds since 1970
  init(of identity: String, succeeding predecessor: PowerBook? = nil, systemTime: @escaping @Sendable () -> Int64) {
    self.identity = identity
    self.systemTime = systemTime
    shared = predecessor?.shared ?? SharedLedger()
  }

  public var learned: LearnedLinger { lessons.withLock { $0 } }

  func learn(_ lesson: (inout LearnedLinger) -> Void) { lessons.withLock { lesson(&$0) } }

  /// How long its starts took to fixes of some grade.
  public var acquisitions: AcquisitionTimes { times.withLock { $0 } }

  func learnAcquisitions(_ lesson: (inout AcquisitionTimes) -> Void) { times.withLock { lesson(&$0) } }

  /// What starts take behind each way to rest, of a receiver for which that is chosen.
  public var starts: [ReceiverSleep: RestartCosts] { startsBehindSleep.withLock { $0 } }

  func learnStart(behind sleep: ReceiverSleep, _ lesson: (inout RestartCosts) -> Void) {
    startsBehindSleep.withLock { lesson(&$0[sleep, default: RestartCosts()]) }
  }

  /// Whose starts are learnt, of receivers that say what tells them from others of their kind.
  public var uniqueID: String? { owner.withLock { $0 } }

  /// Who is in the place has said what tells it from others of its kind. What the starts of another one there have taught is
  /// forgotten; when visitors come is not the receiver's.
  func isOf(_ uniqueID: String) {
    let before = owner.withLock { owner in
      defer { owner = uniqueID }
      return owner
    }
    guard let before, before != uniqueID else { return }
    lessons.withLock { $0.restarts = RestartCosts() }
    times.withLock { $0 = AcquisitionTimes() }
    startsBehindSleep.withLock { $0 = [:] }
  }

  func charge(_ milliwattHours: Double, to payers: EnergyBills.Payers, over seconds: Double) {
    let now = Double(systemTime()) / 1e9
    shared.ledger.withLock { $0.charge(milliwattHours, to: payers, over: seconds, until: now) }
  }

  /// What it drew in the last hours, the one that is under way included.
  public func bills(ofLast hours: Int) -> EnergyBills {
    let now = Double(systemTime()) / 1e9
    return shared.ledger.withLock { $0.bills(ofLast: hours, now: now) }
  }

  /// What it may still draw, milliwatt-hours.
  func left(of budget: EnergyBudget) -> Double {
    let now = Double(systemTime()) / 1e9
    return shared.ledger.withLock { budget.left($0, now: now) }
  }

  var snapshot: Content {
    Content(
      learned: learned, acquisitions: acquisitions, starts: starts, uniqueID: uniqueID,
      ledger: shared.ledger.withLock { $0 })
  }

  /// - Parameter identity: of whom it was learnt
  func restore(_ content: Content, of identity: String) {
    if identity == self.identity {
      lessons.withLock { $0 = content.learned }
      times.withLock { $0 = content.acquisitions }
      startsBehindSleep.withLock { $0 = content.starts }
      owner.withLock { $0 = content.uniqueID }
    }
    shared.ledger.withLock { $0 = content.ledger }
  }
}
