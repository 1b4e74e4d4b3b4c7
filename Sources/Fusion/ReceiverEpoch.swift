import MonotonicTime

/// What a receiver reports of one epoch, as far as it is fused.
public struct ReceiverEpoch: Sendable {
  /// When its first byte was read.
  public var at: MonotonicInstant
  public var quality: FusedState.FixQuality
  /// `nil` where the receiver has none.
  public var position: FusedState.Position?
  public var motion: FusedState.Motion?
  /// Of the line between its antennas, or as it is set.
  public var heading: StatedHeading?

  public init(
    at: MonotonicInstant, quality: FusedState.FixQuality, position: FusedState.Position?, motion: FusedState.Motion?,
    heading: StatedHeading? = nil
  ) {
    self.at = at
    self.quality = quality
    self.position = position
    self.motion = motion
    self.heading = heading
  }
}
