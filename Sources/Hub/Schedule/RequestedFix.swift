import Fusion
import MonotonicTime

/// A scheduled fix, as its client gets it.
public struct RequestedFix: Sendable {
  /// The state at the time of delivery. Its values were measured in this wake, unless `isStill`, `isKnown` or
  /// `isReckoned` is `true`. Without a fix, the state has no position.
  public var state: FusedState
  public var schedule: Schedule
  /// The degraded form of the request; `nil` if it is not degraded.
  public var degraded: Schedule?
  /// When the fix was due.
  public var due: MonotonicInstant
  /// Whether the fix is as good as requested; `false` if time ran out.
  public var isMet: Bool
  /// Whether the board has not moved since the position was measured, so that no receiver was woken.
  public var isStill = false
  /// Whether a motion sensor has detected no motion since the position was measured, even if it was measured just now.
  var isStanding = false
  /// Whether the fix was already known and fresh enough for the client, so that no receiver was woken.
  public var isKnown = false
  /// Whether dead reckoning gave the position instead of a fix. If `isMet`, the position is as certain as requested.
  public var isReckoned = false
  /// When the receiver wakes again, if the search for a position pauses because there is no reception.
  public var searchPausesUntil: MonotonicInstant?

  /// The radius that contains the true position with a probability of 95 %, metres; `nil` if unknown, or without
  /// a position.
  public var radiusMetres: Double? { state.radiusMetres }
}

extension FusedState {
  /// The radius that contains the true position with a probability of 95 %, metres. If the latest fix is further from
  /// the position than the sigmas explain, the radius reaches to that fix.
  package var radiusMetres: Double? {
    position?.value.horizontalSigmaMetres.map { max(Confidence.radial * $0, disagreementMetres ?? 0) }
  }

  /// Whether the position is as good as requested.
  func suits(_ schedule: Schedule) -> Bool {
    guard let limit = schedule.accuracyMetres else { return true }
    return radiusMetres.map { $0 <= limit } ?? false
  }

  /// The time of the fix, if the position comes from one.
  var fixInstant: MonotonicInstant? {
    guard mode == .gnss || mode == .fused, position != nil, let fix, fix.value.mode >= 2 else { return nil }
    return fix.at
  }
}
