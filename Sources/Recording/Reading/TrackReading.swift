import NMEA

/// The track of a time, from a ring of segments, read piece by piece.
public struct TrackReading: Sendable {
  /// A piece of it.
  public struct Piece: Sendable {
    public var points: [Point] = []
    /// Nothing follows.
    public var isLast = false

    /// Leaves out points near the line, as `TrackSimplification` does. Both ends of the piece stay, and those of dead
    /// reckoning.
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
    /// The track is interrupted before it.
    public var beginsSegment: Bool
  }

  private var states: StatesOfRecording
  private var splitter: TrackSplitter

  /// - Parameter everySeconds: no more than one point in this time; 0 for all
  public init(_ catalogue: SegmentCatalogue, in times: Range<UTCTime>, everySeconds: Double) {
    let messages = RecordedMessages(
      catalogue.files(in: times), in: times, isWanted: StatesOfRecording.isWanted)
    states = StatesOfRecording(messages, wanted: .points, everySeconds: everySeconds)
    splitter = TrackSplitter(everySeconds: everySeconds)
  }

  /// Reads on; there may be no points in a piece, and others in the next one.
  ///
  /// - Parameter isStopped: asked again and again; once it says so the piece ends
  public mutating func next(limit: Int, isStopped: () -> Bool = { false }) -> Piece {
    var piece = Piece()
    while piece.points.count < limit {
      // What lies in a ring is read leniently: nothing is thrown.
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
