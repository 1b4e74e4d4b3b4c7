import Fusion
import MonotonicTime

/// A fix that is repeated while the board does not move. It keeps its position and time, and becomes slightly less
/// certain with each hour.
struct ReusedFix: Sendable {
  /// The assumed unnoticed creep of a standing board, one standard deviation. The creep is not measured: a motion
  /// detector does not notice a mooring that stretches, a slope that slides or a float that sinks. With this value, a
  /// night needs no new fix at the usual accuracies, but a fix from weeks ago does not count as exact.
  static let creepMetresPerHour = 0.1

  private let fix: FusedState
  /// The time of the fix.
  let at: MonotonicInstant

  /// `nil` if the state has no position from a fix.
  init?(_ fix: FusedState) {
    guard let at = fix.fixInstant else { return nil }
    self.fix = fix
    self.at = at
  }

  /// The state to deliver at an instant: the position and its fix, each with its age.
  func state(at now: MonotonicInstant) -> FusedState {
    var state = fix.asleep(since: max(fix.at, at), lastKnown: nil)
    state.at = max(now, state.at)
    state.fix = fix.fix
    let hours = state.at.seconds(since: at) / 3600
    if let sigma = state.position?.value.horizontalSigmaMetres {
      state.position?.value.horizontalSigmaMetres = ReusedFix.sigma(sigma, after: hours)
    }
    if let sigma = state.position?.value.verticalSigmaMetres {
      state.position?.value.verticalSigmaMetres = ReusedFix.sigma(sigma, after: hours)
    }
    return state
  }

  private static func sigma(_ sigma: Double, after hours: Double) -> Double {
    let crept = creepMetresPerHour * hours
    return (sigma * sigma + crept * crept).squareRoot()
  }

  /// The time until which the fix is as good as a schedule requires.
  func isGoodUntil(_ schedule: Schedule) -> MonotonicInstant {
    guard let accuracy = schedule.accuracyMetres else { return MonotonicInstant(nanoseconds: .max) }
    guard let sigma = fix.position?.value.horizontalSigmaMetres else { return at }
    let limit = accuracy / Confidence.radial
    let crept = max(0, limit * limit - sigma * sigma).squareRoot()
    return at + .nanoseconds(Int64(crept / ReusedFix.creepMetresPerHour * 3600e9))
  }
}
