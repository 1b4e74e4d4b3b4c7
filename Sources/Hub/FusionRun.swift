import MonotonicTime

/// Whether a client has the state fused. Each run begins with an estimate of its own.
public struct FusionRun: Equatable, Sendable {
  public var isUnderWay: Bool
  /// Later than all inputs of earlier runs, and earlier than those of this run.
  public var since: MonotonicInstant
}
