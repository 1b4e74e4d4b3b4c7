import NMEA

/// The track of a period from a ring of segments, read piece by piece.
public struct TrackReading: Sendable {
  /// A piece of a track.
  public struct Piece: Sendable {
    public var points: [Point] = []
    /// Whether this is the last piece.
    public var isLast = false

    /// The piece without the points that are near the line between the remaining ones; see `TrackSimplification`. The
    /// track is simplified run by run, and both ends of each run remain. A run ends where the track is interrupted, and
    /// where dead reckoning begins or ends.
    public func simplified(toleranceMetres: Double) -> Piece {
      guard toleranceMetres > 0 else { return self }
      var piece = Piece(isLast: isLast)
      var rest = points[...]
      while let first = rest.first {
        let end =
          rest.dropFirst().firstIndex { $0.beginsSegment || $0.point.isReckoned != first.point.isReckoned }
          ?? rest.endIndex
        let line = TrackSimplification.simplified(rest[..<end].map(\.point), toleranceMetres: toleranceMetres)
        for (index, point) in line.enumerated() {
          piece.points.append(Point(point: point, beginsSegment: index == 0 && first.beginsSegment))
        }
        rest = rest[end...]
      }
      return piece
    }
  }

  public struct Point: Sendable {
    public var point: TrackPoint
    /// Whether the track is interrupted before this point.
    public var beginsSegment: Bool
  }

  private var states: StatesOfRecording
  private var splitter: TrackSplitter

  /// - Parameter everySeconds: the length of the intervals; at most one point is taken from each interval. 0 for all
  ///   points
  public init(_ catalogue: SegmentCatalogue, in times: Range<UTCTime>, everySeconds: Double) {
    let messages = RecordedMessages(
      catalogue.files(in: times), in: times, isWanted: StatesOfRecording.isWanted)
    states = StatesOfRecording(messages, wanted: .points, everySeconds: everySeconds)
    splitter = TrackSplitter(everySeconds: everySeconds)
  }

  /// Reads the next piece. It may have no points, even if later pieces have some.
  ///
  /// - Parameter isStopped: called repeatedly; the piece ends when it returns true
  public mutating func next(limit: Int, isStopped: () -> Bool = { false }) -> Piece {
    var piece = Piece()
    while piece.points.count < limit {
      // Files of a ring that cannot be read are skipped, so no error is thrown.
      guard let entry = try? states.next(isStopped: isStopped) else {
        piece.isLast = !states.isPaused
        return piece
      }
      if let point = entry.point {
        if entry.hasRested { splitter.noteRest() }
        piece.points.append(Point(point: point, beginsSegment: splitter.beginsSegment(at: point.time)))
      }
      if isStopped() { return piece }
    }
    return piece
  }
}
