import NMEA

/// Decides where a track is interrupted. The way between two points that are far apart in time is unknown, so no line
/// should be drawn there.
public struct TrackSplitter: Sendable {
  /// The longest time without a position that is not a pause.
  public static let longestPauseNanoseconds: Int64 = 10_000_000_000
  /// The longest pause after a receiver was switched off, because another receiver may continue the track.
  static let longestPauseAtRestNanoseconds: Int64 = 2_000_000_000

  /// The expected interval between two points.
  private let intervalNanoseconds: Int64
  private var last: UTCTime?
  private var hasRested = false

  /// - Parameter everySeconds: the intended interval of points, if some are left out
  public init(everySeconds: Double = 0) { intervalNanoseconds = Int64(everySeconds * 1e9) }

  /// Records that a receiver has had no power since the last point, or that the hub was asleep.
  public mutating func noteRest() { hasRested = true }

  /// Takes the next point's time.
  ///
  /// - Returns: whether a new part of the track begins there
  public mutating func beginsSegment(at time: UTCTime) -> Bool {
    defer {
      last = time
      hasRested = false
    }
    guard let last else { return true }
    let (pause, overflows) = time.nanosecondsSince1970.subtractingReportingOverflow(last.nanosecondsSince1970)
    // A time that goes back belongs to another recording.
    guard !overflows, pause >= 0 else { return true }
    let longest = hasRested ? Self.longestPauseAtRestNanoseconds : Self.longestPauseNanoseconds
    return pause > longest + intervalNanoseconds
  }
}
