import MonotonicTime
import NMEA

/// An epoch with the time at which it reached this machine.
public struct GNSSObservation: Sendable {
  /// When the epoch's first byte was read.
  public var at: MonotonicInstant
  /// The time at which it was complete: its last byte was read, or the silence after it had been long enough.
  public var receivedAt: MonotonicInstant
  public var fix: GNSSFix
  /// Empty unless a complete list of satellites arrived with the epoch.
  public var sky: [Satellite]
  public var errorStatistics: GNSSErrorStatistics?
  /// The receiver has shown that it knows the date and the time, rather than remembers or guesses them.
  public var isTimeConfirmed = false
  /// The receiver has hung up and repeats itself: its fix has been taken away.
  public var isFrozen = false

  /// - Parameter receivedAt: when the first byte was read, unless it is known better
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
