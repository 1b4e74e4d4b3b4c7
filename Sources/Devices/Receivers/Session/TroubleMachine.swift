import MonotonicTime
import NMEA

/// Decides whether a receiver works, when it is restarted, and what is reported about it.
///
/// The methods take an event and return the actions. The line, the clock and the receiver belong to `ReceiverSession`.
struct TroubleMachine: Sendable {
  typealias Trouble = RestartPolicy.Trouble

  enum Effect: Equatable {
    /// Report the trouble and what is done about it; `nil` if the receiver works again.
    case report(String?)
    case restart(ReceiverRestart)
  }

  /// The trouble that was reported last; `nil` if the receiver works.
  private(set) var reported: String?
  private var policy = RestartPolicy()
  private var search = FailedSearchDetector()

  /// The state after a pause in reading. One run may be too short to decide.
  var resumed: TroubleMachine {
    var next = self
    (next.policy, next.search) = (policy.resumed, search.resumed)
    return next
  }

  /// Handles the arrival of another receiver on the line. Nothing that is known about the earlier receiver applies to
  /// it.
  mutating func replaced() -> [Effect] {
    let effects = report(nil)
    self = TroubleMachine()
    return effects
  }

  /// Examines an epoch.
  ///
  /// - Parameter isContradicted: whether another source contradicts the receiver's position at that time
  mutating func take(_ observation: borrowing GNSSObservation, isContradicted: Bool) -> [Effect] {
    search.take(observation)
    guard observation.fix.mode >= .twoDimensional, policy.tries > 0 || reported != nil, !isContradicted else {
      return []
    }
    policy.works(at: observation.at)
    return policy.hasRecovered ? report(nil) : []
  }

  /// The receiver's present trouble; `nil` if there is none.
  ///
  /// - Parameters:
  ///   - fault: the way in which the receiver has hung
  ///   - isContradicted: whether another source contradicts the receiver's position
  func trouble(
    _ fault: FrozenOutputDetector.Fault?, isContradicted: Bool, at now: MonotonicInstant
  ) -> Trouble? {
    if let fault { return .frozen(fault) }
    if isContradicted { return .contradicted }
    return search.isVain(at: now) ? .search : nil
  }

  /// Decides what to do about the trouble. A restart counts as tried, and the search begins again.
  ///
  /// - Parameters:
  ///   - canBeTold: whether the receiver answers commands
  ///   - isSwitched: whether the receiver's supply can be switched
  mutating func act(
    on trouble: Trouble, at now: MonotonicInstant, canBeTold: Bool, isSwitched: Bool
  ) -> [Effect] {
    switch policy.advise(trouble, at: now, canBeTold: canBeTold, isSwitched: isSwitched) {
    case .wait: return []
    case .restart(let restart):
      search = FailedSearchDetector()
      let how =
        restart == .power ? "the hub switches its supply off and on" : "the hub restarts it, \(restart.rawValue)"
      return report("\(trouble.text): \(how) (attempt \(policy.tries))") + [.restart(restart)]
    case .hopeless:
      let why =
        policy.tries > 0
        ? ", also after \(policy.tries) restarts: check its antenna and its supply"
        : ": only a command in its own protocol, or its supply switch, can restart it"
      return report(trouble.text + why)
    }
  }

  /// Reports the trouble, unless it was the last one reported.
  private mutating func report(_ trouble: String?) -> [Effect] {
    if trouble == reported { return [] }
    reported = trouble
    return [.report(trouble)]
  }
}
