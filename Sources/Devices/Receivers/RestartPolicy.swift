import MonotonicTime

/// A kind of restart of a receiver.
public enum ReceiverRestart: String, CaseIterable, Sendable {
  /// The receiver keeps all its data.
  case hot
  /// The receiver forgets its ephemerides.
  case warm
  /// The receiver forgets all its data.
  case cold
  /// The hub switches the receiver's supply off and on.
  case power
}

/// Decides when and how to restart a receiver that does not work. The mildest restart that can help comes first, and
/// the pause doubles after each attempt, up to an hour. After the last restart the policy gives up.
struct RestartPolicy: Equatable, Sendable {
  enum Trouble: Equatable, Sendable {
    /// The receiver has hung.
    case frozen(FrozenOutputDetector.Fault)
    /// The receiver repeats one position while the inertial sensors measure motion.
    case contradicted
    /// The receiver receives satellites, but finds no position.
    case search
  }

  enum Advice: Equatable, Sendable {
    case restart(ReceiverRestart)
    case wait
    /// There is nothing to try, or nothing has helped.
    case hopeless
  }

  /// The pause after the first restart. A cold start under an open sky takes less time.
  static let firstPause = Duration.seconds(60)
  private static let backoff = Backoff(initial: firstPause, maximum: .seconds(3600))
  static let mostTries = 8
  /// The time for which the receiver must work before all attempts are available again.
  static let proof = Duration.seconds(600)

  private(set) var tries = 0
  private var notBefore: MonotonicInstant?
  /// How long the receiver has worked since it was last in trouble, and when it last worked.
  private var worked = Duration.zero
  private var worksUntil: MonotonicInstant?

  /// The next action for a receiver in trouble; a restart counts as tried.
  ///
  /// - Parameters:
  ///   - canBeTold: whether the receiver answers commands
  ///   - isSwitched: whether the receiver's supply can be switched
  mutating func advise(
    _ trouble: Trouble, at now: MonotonicInstant, canBeTold: Bool, isSwitched: Bool
  ) -> Advice {
    (worked, worksUntil) = (.zero, nil)
    let steps = RestartPolicy.steps(trouble, canBeTold: canBeTold, isSwitched: isSwitched)
    guard let last = steps.last, tries < RestartPolicy.mostTries else { return .hopeless }
    if let notBefore, now < notBefore { return .wait }
    let step = tries < steps.count ? steps[tries] : last
    tries += 1
    notBefore = now + RestartPolicy.backoff.delay(afterFailures: tries)
    return .restart(step)
  }

  /// The restarts for a kind of trouble, in order. For a frozen receiver, switching its supply is the surest step, and
  /// its data is not the cause. A receiver that finds no position has wrong data, and must forget it.
  private static func steps(_ trouble: Trouble, canBeTold: Bool, isSwitched: Bool) -> [ReceiverRestart] {
    switch trouble {
    case .frozen, .contradicted: isSwitched ? [.power] : canBeTold ? [.hot, .warm, .cold] : []
    case .search: (canBeTold ? [.warm, .cold] : []) + (isSwitched ? [.power] : [])
    }
  }

  /// Records that the receiver has a trustworthy position.
  mutating func works(at now: MonotonicInstant) {
    guard tries > 0 else { return }
    if let worksUntil { worked += now - worksUntil }
    worksUntil = now
    if worked >= RestartPolicy.proof { self = RestartPolicy() }
  }

  /// Whether the receiver has worked long enough since it was last in trouble to count as recovered.
  var hasRecovered: Bool { tries == 0 || worked >= RestartPolicy.firstPause }

  /// The policy after a pause in reading. The pause does not count as time in which the receiver worked.
  var resumed: RestartPolicy {
    var next = self
    next.worksUntil = nil
    return next
  }
}

extension RestartPolicy.Trouble {
  var text: String {
    switch self {
    // The text need not mention the repeated position, because the hub reports it separately.
    case .frozen(.position): "it has hung"
    case .frozen(.time): "it keeps sending, but its time stands still"
    case .contradicted: "it repeats one position while the inertial sensors move"
    case .search: "it receives satellites well, but finds no position"
    }
  }
}
