import Fusion
import MonotonicTime

/// One scheduled fix as a client gets it.
public struct ScheduledFix: Sendable {
  /// As of its delivery, so its ages count up to then. Its values were measured in this wake, unless it `isStill`:
  /// without a fix it has no position.
  public var state: FusedState
  public var schedule: Schedule
  /// The form relaxed by the receivers' budgets; `nil` if it is not relaxed.
  public var relaxed: Schedule?
  /// When it was due.
  public var due: MonotonicInstant
  /// It is as good as was asked for; else time ran out.
  public var isMet: Bool
  /// Nothing has moved since its position was measured, so that no receiver was woken for it.
  public var isStill = false
  /// It was known already, and is fresh enough for a subscriber that takes a value of some age: no receiver was woken for it.
  public var isKnown = false
  /// It is no fix: dead reckoning has carried the position on, and it is as certain as was asked for if `isMet`.
  public var isReckoned = false

  /// Within which 95 % of such positions are, metres; `nil` if unknown, or without a position.
  public var radiusMetres: Double? { state.radiusMetres }
}

extension FusedState {
  /// Within which 95 % of such positions are, metres.
  var radiusMetres: Double? { position?.value.horizontalSigmaMetres.map { Confidence.radial * $0 } }

  /// Whether its position is as good as was asked for.
  func suits(_ schedule: Schedule) -> Bool {
    guard let limit = schedule.accuracyMetres else { return true }
    return radiusMetres.map { $0 <= limit } ?? false
  }

  /// When its fix was valid, if it has a position of one.
  var fixInstant: MonotonicInstant? {
    guard mode == .gnss || mode == .fused, position != nil, let fix, fix.value.mode >= 2 else { return nil }
    return fix.at
  }
}
