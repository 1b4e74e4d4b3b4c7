import NMEA

/// Decides where a track is interrupted. Between two points that are far apart in time the way is unknown, so no line
/// should be drawn.
public struct TrackSplitter: Sendable {
  /// The longest time between two positions of a continuous track.
  public static let longestPauseNanoseconds: Int64 = 10_000_000_000
  /// The same limit after a receiver was switched off or the hub was asleep. It is shorter than the usual one, because
  /// another receiver may continue the track.
  static let longestPauseAtRestNanoseconds: Int64 = 2_000_000_000

  /// The expected interval between two points.
  private let intervalNanoseconds: Int64
  private var last: UTCTime?
  private var hasRested = false

  /// - Parameter everySeconds: the interval at which points were taken from the recording; 0 if all were taken
  public init(everySeconds: Double = 0) { intervalNanoseconds = Int64(everySeconds * 1e9) }

  /// Records that, since the last point, a receiver had no power or the hub was asleep.
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
    // If the time goes back, the point belongs to another recording.
    guard !overflows, pause >= 0 else { return true }
    let longest = hasRested ? Self.longestPauseAtRestNanoseconds : Self.longestPauseNanoseconds
    return pause > longest + intervalNanoseconds
  }
}
