import Publishing
import MonotonicTime

/// The power settings of a device that may change while it works: they decide when it sleeps, and what its fixes cost.
struct PowerPolicy: Equatable, Sendable {
  /// The fixed idle timeout after the last subscriber.
  var linger: Duration
  /// Whether the idle timeout is learned from visits and starts, instead of fixed.
  var lingersAsLearned: Bool
  /// The daily energy budget; `nil` for no limit.
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

  /// The settings that a reader depends on. The others may change while it works: the source of power measurements, the
  /// power that the board file states, the minimum times and the policy.
  var ofReader: Board.Power {
    var power = self
    power.monitor = nil
    (power.currentMilliamperes, power.standbyMilliamperes, power.supplyVolts) = (0, 0, 0)
    power.timing = LifecycleTiming()
    power.policy = PowerPolicy(linger: .zero, lingersAsLearned: false)
    return power
  }

  /// The settings of a device whose power at rest is unknown.
  var withoutRest: Board.Power {
    var power = self
    power.standbyMilliamperes = 0
    return power
  }
}
