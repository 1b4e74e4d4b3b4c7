import MonotonicTime
import NMEA

/// An epoch and the time at which it reached this machine.
public struct GNSSObservation: Sendable {
  /// When the epoch's first byte was read.
  public var at: MonotonicInstant
  /// When the epoch was complete: when its last byte was read, or when the silence after it was long enough.
  public var receivedAt: MonotonicInstant
  public var fix: GNSSFix
  /// The satellites; empty unless a complete list arrived with the epoch.
  public var sky: [Satellite]
  public var errorStatistics: GNSSErrorStatistics?
  /// Whether the receiver has shown that its date and time come from satellites. Until then, it may have remembered or
  /// guessed them.
  public var isTimeConfirmed = false
  /// Whether the receiver has hung and repeats itself. If it has, `fix` has no position.
  public var isFrozen = false

  /// - Parameter receivedAt: when the epoch was complete; `nil` if its first byte completed it
  public init(
    at: MonotonicInstant, receivedAt: MonotonicInstant? = nil, fix: GNSSFix, sky: [Satellite],
    errorStatistics: GNSSErrorStatistics? = nil
  ) {
    self.at = at
    self.receivedAt = receivedAt ?? at
    self.fix = fix
    self.sky = sky
    self.errorStatistics = errorStatistics
  }
}
