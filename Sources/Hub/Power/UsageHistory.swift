import Devices
import Guarding

/// The usage history of one device: what the hub has learned from its clients and starts, and its energy by hour.
///
/// The history outlives readers and reloads of the board file, and is stored in a file between two runs of the hub
/// (`UsageHistories`).
public final class UsageHistory: Sendable {
  struct Content: Equatable, Sendable {
    var learned = LearnedIdleTimeout()
    var acquisitions = AcquisitionTimes()
    /// The costs of starts after each kind of rest, if the receiver's sleep mode is chosen.
    var starts: [ReceiverSleep: RestartCosts] = [:]
    /// The unique number of the receiver that made these starts, if it states one.
    var uniqueID: String?
    var energyLog = EnergyLog()
  }

  /// The energy log of all devices that have had one name. A new history for the name continues the same log.
  private final class SharedEnergyLog: Sendable {
    let energyLog = Guarded(EnergyLog(), rank: .energyLog)
  }

  /// The driver and the connection. Another device under the same name must learn everything again.
  let identity: String
  private let timeouts = Guarded(LearnedIdleTimeout())
  private let times = Guarded(AcquisitionTimes())
  private let startsBehindSleep = Guarded<[ReceiverSleep: RestartCosts]>([:])
  private let owner = Guarded<String?>(nil)
  private let shared: SharedEnergyLog
  private let systemTime: @Sendable () -> Int64

  /// - Parameters:
  ///   - predecessor: the usage history of the previous device under the same name
  ///   - systemTime: nanoseconds since 1970
  init(of identity: String, succeeding predecessor: UsageHistory? = nil, systemTime: @escaping @Sendable () -> Int64) {
    self.identity = identity
    self.systemTime = systemTime
    shared = predecessor?.shared ?? SharedEnergyLog()
  }

  public var learned: LearnedIdleTimeout { timeouts.withLock { $0 } }

  func learn(_ change: (inout LearnedIdleTimeout) -> Void) { timeouts.withLock { change(&$0) } }

  /// The learned times from a wake to a fix, for each grade of accuracy.
  public var acquisitions: AcquisitionTimes { times.withLock { $0 } }

  func learnAcquisitions(_ change: (inout AcquisitionTimes) -> Void) { times.withLock { change(&$0) } }

  /// The costs of starts after each kind of rest, if the receiver's sleep mode is chosen.
  public var starts: [ReceiverSleep: RestartCosts] { startsBehindSleep.withLock { $0 } }

  func learnStart(behind sleep: ReceiverSleep, _ change: (inout RestartCosts) -> Void) {
    startsBehindSleep.withLock { change(&$0[sleep, default: RestartCosts()]) }
  }

  /// Learns from a start or a gap, if there was one.
  func learn(from event: UsageEvent?) {
    switch event {
    case .started(let off, let joules, let seconds, let isComplete, let sleep):
      learn { $0.restarted(after: off, joules: joules, seconds: seconds, isComplete: isComplete) }
      guard let sleep else { return }
      learnStart(behind: sleep) { $0.started(after: off, joules: joules, seconds: seconds, isComplete: isComplete) }
    case .visited(let gap, let lingered, let costs): learn { $0.visited(after: gap, lingered: lingered, costs) }
    case nil: break
    }
  }

  /// The unique number of the receiver that the starts belong to, if it states one.
  public var uniqueID: String? { owner.withLock { $0 } }

  /// Sets the unique number of the receiver. If it is another receiver than before, experience from starts is
  /// discarded. The gaps between clients do not depend on the receiver.
  func isOf(_ uniqueID: String) {
    let before = owner.withLock { owner in
      defer { owner = uniqueID }
      return owner
    }
    guard let before, before != uniqueID else { return }
    timeouts.withLock { $0.restarts = RestartCosts() }
    times.withLock { $0 = AcquisitionTimes() }
    startsBehindSleep.withLock { $0 = [:] }
  }

  func charge(_ milliwattHours: Double, to payers: EnergyByClient.Payers, over seconds: Double) {
    let now = Double(systemTime()) / 1e9
    shared.energyLog.withLock { $0.charge(milliwattHours, to: payers, over: seconds, until: now) }
  }

  func charge(_ charge: EnergyCharge) {
    self.charge(charge.milliwattHours, to: charge.payers, over: charge.seconds)
  }

  /// The device's energy in the last hours, including the present one.
  public func energyByClient(ofLast hours: Int) -> EnergyByClient {
    let now = Double(systemTime()) / 1e9
    return shared.energyLog.withLock { $0.energyByClient(ofLast: hours, now: now) }
  }

  /// The remaining energy of a budget, milliwatt-hours.
  func left(of budget: EnergyBudget) -> Double {
    let now = Double(systemTime()) / 1e9
    return shared.energyLog.withLock { budget.left($0, now: now) }
  }

  var snapshot: Content {
    Content(
      learned: learned, acquisitions: acquisitions, starts: starts, uniqueID: uniqueID,
      energyLog: shared.energyLog.withLock { $0 })
  }

  /// Restores stored content. If another device now has the name, the learned values are dropped. The energy log
  /// belongs to the name, and is always restored.
  ///
  /// - Parameter identity: the identity of the device that the content was learned from
  func restore(_ content: Content, of identity: String) {
    if identity == self.identity {
      timeouts.withLock { $0 = content.learned }
      times.withLock { $0 = content.acquisitions }
      startsBehindSleep.withLock { $0 = content.starts }
      owner.withLock { $0 = content.uniqueID }
    }
    shared.energyLog.withLock { $0 = content.energyLog }
  }
}
