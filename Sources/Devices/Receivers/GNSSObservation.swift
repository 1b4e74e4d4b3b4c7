import MonotonicTime
import NMEA

/// An epoch and the time at which it reached this machine.
public struct GNSSObservation: Sendable {
  /// When the epoch's first byte was read.
  public var at: MonotonicInstant
  /// When the epoch was complete: its last byte was read, or the silence after it was long enough.
  public var receivedAt: MonotonicInstant
  public var fix: GNSSFix
  /// The satellites; empty unless a complete list arrived with the epoch.
  public var sky: [Satellite]
  public var errorStatistics: GNSSErrorStatistics?
  /// Whether the receiver has shown that it knows the date and the time, and does not remember or guess them.
  public var isTimeConfirmed = false
  /// Whether the receiver has hung up and repeats itself. Its fix has then been removed.
  public var isFrozen = false

  /// - Parameter receivedAt: when the epoch was complete, if that was not with its first byte
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
