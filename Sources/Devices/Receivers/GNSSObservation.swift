import MonotonicTime
import NMEA

/// An epoch with the time at which it reached this machine.
public struct GNSSObservation: Sendable {
  /// When the epoch's first byte was read.
  public var at: MonotonicInstant
  public var fix: GNSSFix
  /// Empty unless a complete list of satellites arrived with the epoch.
  public var sky: [Satellite]
  public var errorStatistics: GNSSErrorStatistics?
  /// The receiver has shown that it knows the date and the time, rather than remembers or guesses them.
  public var isTimeConfirmed = false

  public init(at: MonotonicInstant, fix: GNSSFix, sky: [Satellite], errorStatistics: GNSSErrorStatistics? = nil) {
    self.at = at
    self.fix = fix
    self.sky = sky
    self.errorStatistics = errorStatistics
  }
}
