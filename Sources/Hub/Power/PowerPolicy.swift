import Publishing
import MonotonicTime

/// The part of a board file's power settings for a device that may change while it works: when the device sleeps, and
/// the costs of its fixes.
struct PowerPolicy: Equatable, Sendable {
  /// How long it runs on after its last subscriber.
  var linger: Duration
  /// It lingers as its visits and starts have taught, in place of always as long.
  var lingersAsLearned: Bool
  /// Its daily energy budget; `nil` for no limit.
  var budget: EnergyBudget?

  func lingersLike(_ other: PowerPolicy) -> Bool {
    (linger, lingersAsLearned) == (other.linger, other.lingersAsLearned)
  }
}

extension Board.Power {
  var policy: PowerPolicy {
    get { PowerPolicy(linger: timing.linger, lingersAsLearned: lingersAsLearned, budget: budget) }
    set { (timing.linger, lingersAsLearned, budget) = (newValue.linger, newValue.lingersAsLearned, newValue.budget) }
  }

  /// The settings for which a reader is made. The others may change while it works: the source of power measurements,
  /// the power stated by the board file, its minimum times and its policy.
  var ofReader: Board.Power {
    var power = self
    power.monitor = nil
    (power.currentMilliamperes, power.standbyMilliamperes, power.supplyVolts) = (0, 0, 0)
    power.timing = LifecycleTiming()
    power.policy = PowerPolicy(linger: .zero, lingersAsLearned: false)
    return power
  }

  /// The same for a device whose power at rest is unknown.
  var withoutRest: Board.Power {
    var power = self
    power.standbyMilliamperes = 0
    return power
  }
}
