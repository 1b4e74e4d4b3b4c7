import Recording

/// A format for tracks.
public protocol TrackWriter: ~Copyable {
  associatedtype Failure: Error

  /// Adds the next point. The writer begins a new segment with it if `beginsSegment` is set.
  mutating func add(_ point: TrackPoint, beginsSegment: Bool) throws(Failure)
  /// Writes the end of the file.
  mutating func finish() throws(Failure)
}

/// The destination of a track: a file, or the body of an HTTP response.
public protocol TrackOutput {
  associatedtype Failure: Error

  func write(_ bytes: UnsafeRawBufferPointer) throws(Failure)
}
