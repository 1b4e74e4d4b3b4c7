import MonotonicTime

/// A kind of restart of a receiver.
public enum ReceiverRestart: String, CaseIterable, Sendable {
  /// With all its data.
  case hot
  /// Without its ephemerides.
  case warm
  /// Without any data.
  case cold
  /// By switching its supply.
  case power
}

/// The restarts of a receiver that does not work, and their times. The mildest restart comes first, and the pause
/// doubles after each attempt. After the last one it gives up.
struct RestartPolicy: Equatable, Sendable {
  enum Trouble: Equatable, Sendable {
    /// The receiver has hung up.
    case frozen(FrozenOutputDetector.Fault)
    /// The receiver repeats one position while the inertial sensors move.
    case contradicted
    /// The receiver hears satellites, but finds no position.
    case search
  }

  enum Advice: Equatable, Sendable {
    case restart(ReceiverRestart)
    case wait
    /// There is nothing to try, or nothing has helped.
    case hopeless
  }

  /// The first pause. A cold start under an open sky takes less.
  static let firstPause = Duration.seconds(60)
  static let longestPause = Duration.seconds(3600)
  static let mostTries = 8
  /// The time of proper work after which all attempts are available again.
  static let proof = Duration.seconds(600)

  private(set) var tries = 0
  private var notBefore: MonotonicInstant?
  /// How long it has worked since the last restart, and until when.
  private var worked = Duration.zero
  private var worksUntil: MonotonicInstant?

  /// The next action for a receiver in trouble; a restart counts as tried.
  ///
  /// - Parameters:
  ///   - canBeTold: whether the receiver answers commands
  ///   - isSwitched: whether its supply can be switched
  mutating func advise(
    _ trouble: Trouble, at now: MonotonicInstant, canBeTold: Bool, isSwitched: Bool
  ) -> Advice {
    (worked, worksUntil) = (.zero, nil)
    let steps = RestartPolicy.steps(trouble, canBeTold: canBeTold, isSwitched: isSwitched)
    guard let last = steps.last, tries < RestartPolicy.mostTries else { return .hopeless }
    if let notBefore, now < notBefore { return .wait }
    let step = tries < steps.count ? steps[tries] : last
    notBefore = now + min(RestartPolicy.firstPause * (1 << tries), RestartPolicy.longestPause)
    tries += 1
    return .restart(step)
  }

  /// The steps for a trouble. For a frozen receiver, switching its supply is the surest way, and keeps its data. A
  /// receiver that finds nothing has wrong data.
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

  /// Whether it works again, as far as known.
  var hasRecovered: Bool { tries == 0 || worked >= RestartPolicy.firstPause }

  /// The knowledge that remains after a pause in reading; the time of its sleep proves nothing.
  var resumed: RestartPolicy {
    var next = self
    next.worksUntil = nil
    return next
  }
}

extension RestartPolicy.Trouble {
  var text: String {
    switch self {
    // A repeated position is reported separately.
    case .frozen(.position): "it has hung"
    case .frozen(.time): "it keeps sending, but its time stands still"
    case .contradicted: "it repeats one position while the inertial sensors move"
    case .search: "it receives satellites well, but finds no position"
    }
  }
}
