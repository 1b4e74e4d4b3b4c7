import Recording

/// A format that tracks are written in.
public protocol TrackWriter: ~Copyable {
  associatedtype Failure: Error

  /// Takes the next point.
  mutating func add(_ point: TrackPoint, beginsSegment: Bool) throws(Failure)
  /// Writes what closes the file.
  mutating func finish() throws(Failure)
}

/// The destination: a file, or the body of an answer.
public protocol TrackOutput {
  associatedtype Failure: Error

  func write(_ bytes: UnsafeRawBufferPointer) throws(Failure)
}
