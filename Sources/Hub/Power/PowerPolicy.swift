import Publishing
import MonotonicTime

/// What a board file wishes of a device's power that may change while it works: it decides when the device sleeps, and what its fixes
/// may cost.
struct PowerPolicy: Equatable, Sendable {
  /// How long it runs on after its last subscriber.
  var linger: Duration
  /// It lingers as its visits and starts have taught, in place of always as long.
  var lingersAsLearned: Bool
  /// What it may draw in a day; `nil` for as much as is asked for.
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

  /// What a reader is made for. The rest may change while it works: who measures what it draws, what that is by the board file, its
  /// least times and its policy.
  var ofReader: Board.Power {
    var power = self
    power.monitor = nil
    (power.currentMilliamperes, power.standbyMilliamperes, power.supplyVolts) = (0, 0, 0)
    power.timing = LifecycleTiming()
    power.policy = PowerPolicy(linger: .zero, lingersAsLearned: false)
    return power
  }

  /// The same of a device of which it is unknown what it draws at rest.
  var withoutRest: Board.Power {
    var power = self
    power.standbyMilliamperes = 0
    return power
  }
}
