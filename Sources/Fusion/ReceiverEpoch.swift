import MonotonicTime

/// The part of a receiver's epoch that is fused.
public struct ReceiverEpoch: Sendable {
  /// When the epoch's first byte was read.
  public var at: MonotonicInstant
  public var quality: FusedState.FixQuality
  /// The position; `nil` if the receiver has none.
  public var position: FusedState.Position?
  public var motion: FusedState.Motion?
  /// The heading that a receiver with two antennas states; `nil` if it states none.
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
