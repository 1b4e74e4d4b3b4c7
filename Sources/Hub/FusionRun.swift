import MonotonicTime

/// Whether a client has the state fused. Each run begins with an estimate of its own.
public struct FusionRun: Equatable, Sendable {
  public var isUnderWay: Bool
  /// Later than all that was fused before, and earlier than what is fused in it.
  public var since: MonotonicInstant
}
