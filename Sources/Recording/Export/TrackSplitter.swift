import NMEA

/// Decides where a track is interrupted: what lies between two points that are far apart in time nobody has seen, and no
/// line should be drawn there.
public struct TrackSplitter: Sendable {
  /// Longer than this without a position is a pause, whatever the reason.
  public static let longestPauseNanoseconds: Int64 = 10_000_000_000
  /// So long after a receiver was switched off: of several, another one may have carried on.
  static let longestPauseAtRestNanoseconds: Int64 = 2_000_000_000

  /// What lies between two points where nothing is missing.
  private let intervalNanoseconds: Int64
  private var last: UTCTime?
  private var hasRested = false

  /// - Parameter everySeconds: how far apart the points are meant to be, where some are left out
  public init(everySeconds: Double = 0) { intervalNanoseconds = Int64(everySeconds * 1e9) }

  /// Since the last point a receiver has had no power, or the hub was asleep.
  public mutating func noteRest() { hasRested = true }

  /// Takes the next point's time; returns whether the track begins anew there.
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
