import NMEA

/// Decides where a track is interrupted: the way between two points that are far apart in time is unknown, and no line
/// should be drawn there.
public struct TrackSplitter: Sendable {
  /// A longer time without a position is a pause, whatever the reason.
  public static let longestPauseNanoseconds: Int64 = 10_000_000_000
  /// The time after a receiver was switched off: another receiver may continue the track.
  static let longestPauseAtRestNanoseconds: Int64 = 2_000_000_000

  /// The interval between two points without a gap.
  private let intervalNanoseconds: Int64
  private var last: UTCTime?
  private var hasRested = false

  /// - Parameter everySeconds: how far apart the points are meant to be, where some are left out
  public init(everySeconds: Double = 0) { intervalNanoseconds = Int64(everySeconds * 1e9) }

  /// Since the last point a receiver has had no power, or the hub was asleep.
  public mutating func noteRest() { hasRested = true }

  /// Takes the next point's time; returns whether a new part of the track begins there.
  public mutating func beginsSegment(at time: UTCTime) -> Bool {
    defer {
      last = time
      hasRested = false
    }
    guard let last else { return true }
    let (pause, overflows) = time.nanosecondsSince1970.subtractingReportingOverflow(last.nanosecondsSince1970)
    // Time that goes back is another recording's.
    guard !overflows, pause >= 0 else { return true }
    let longest = hasRested ? Self.longestPauseAtRestNanoseconds : Self.longestPauseNanoseconds
    return pause > longest + intervalNanoseconds
  }
}
