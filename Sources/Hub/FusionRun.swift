import MonotonicTime

/// Whether a client uses the fused state. Each run begins with a new estimate.
public struct FusionRun: Equatable, Sendable {
  public var isUnderWay: Bool
  /// The beginning: later than all inputs of earlier runs, and earlier than all inputs of this run.
  public var since: MonotonicInstant
}
