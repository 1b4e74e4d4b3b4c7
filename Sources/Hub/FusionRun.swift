import MonotonicTime

/// Whether a client uses the fused state, and since when. Each run begins with a new estimate.
public struct FusionRun: Equatable, Sendable {
  public var isUnderWay: Bool
  /// When the run began, or when the last run ended if none is under way. The beginning is later than all inputs of
  /// earlier runs, and earlier than all inputs of this run.
  public var since: MonotonicInstant
}
