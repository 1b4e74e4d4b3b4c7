import Fusion
import Guarding
import MonotonicTime
import Publishing

extension Hub {
  /// Fixes as often as it takes to keep the sigma of the position below a bound. The receivers sleep while the last position is
  /// certain enough, and are woken before it is not.
  public func fixes(errorMetres: Double, within: Duration) -> Deferred<ScheduledFix, Never> {
    Deferred { [scheduledFixes, clock = machine.clock] _ in
      let bound = Guarded(ErrorBound(metres: errorMetres, within: within))
      let schedule = MutableProperty(bound.withLock { $0.schedule })
      return scheduledFixes.fixes(on: schedule.readOnly).compactMap { fix -> ScheduledFix? in
        let now = clock.now
        let state = fix.state
        let next = bound.withLock { bound in
          bound.receive(
            sigmaMetres: state.position?.value.horizontalSigmaMetres,
            speedMetresPerSecond: state.motion?.value.speedMetresPerSecond, fix: state.position?.at ?? now,
            isStill: fix.isStill, at: now)
          return bound.schedule
        }
        // Before anything is told, so that nothing sleeps that is wanted again at once.
        schedule.value = next
        return fix
      }
    }
  }
}
