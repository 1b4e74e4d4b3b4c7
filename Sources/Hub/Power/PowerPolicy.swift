import Publishing
import MonotonicTime

/// The power settings of a device that may change while it works. They decide when the device sleeps, and which limits
/// its energy budget sets.
struct PowerPolicy: Equatable, Sendable {
  /// The fixed idle timeout after the last subscriber.
  var idleTimeout: Duration
  /// Whether the hub learns the idle timeout from the pauses between clients and the costs of starts.
  var learnsIdleTimeout: Bool
  /// The daily energy budget; `nil` for no limit.
  var budget: EnergyBudget?

  func hasIdleTimeoutLike(_ other: PowerPolicy) -> Bool {
    (idleTimeout, learnsIdleTimeout) == (other.idleTimeout, other.learnsIdleTimeout)
  }
}

extension Board.Power {
  var policy: PowerPolicy {
    get { PowerPolicy(idleTimeout: timing.idleTimeout, learnsIdleTimeout: learnsIdleTimeout, budget: budget) }
    set {
      (timing.idleTimeout, learnsIdleTimeout, budget) = (
        newValue.idleTimeout, newValue.learnsIdleTimeout, newValue.budget
      )
    }
  }

  /// The settings that a reader depends on. The other settings may change while the reader works: the source of power
  /// measurements, the power that the board file states, the minimum times and the policy.
  var ofReader: Board.Power {
    var power = self
    power.monitor = nil
    (power.currentMilliamperes, power.standbyMilliamperes, power.supplyVolts) = (0, 0, 0)
    power.timing = LifecycleTiming()
    power.policy = PowerPolicy(idleTimeout: .zero, learnsIdleTimeout: false)
    return power
  }

  /// The same settings with a power of 0 at rest, for a recorded device, whose power at rest is unknown.
  var withoutRest: Board.Power {
    var power = self
    power.standbyMilliamperes = 0
    return power
  }
}
