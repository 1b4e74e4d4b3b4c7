import MCAP

/// Where segments are kept: a folder, or what a test puts in its place. Everything here may take its time.
public protocol SegmentStore: Sendable {
  /// Those that are there, the oldest first; none where there is no such place yet.
  var segments: [StoredSegment] { get }
  /// Makes a new one, and the place for it where that is missing.
  func create(_ name: String) throws(MCAPError) -> any SegmentFile
  /// Removes one; nothing where it is gone already.
  func remove(_ name: String) throws(MCAPError)
  /// Whether somebody is writing to one just now.
  func isHeld(_ name: String) -> Bool
  /// Makes one whole that was cut.
  func repair(_ name: String) throws(MCAPError) -> MCAPRepair
}

extension SegmentStore {
  /// A place that nobody else knows.
  public func isHeld(_ name: String) -> Bool { false }
}

/// A segment as it lies there.
public struct StoredSegment: Equatable, Sendable {
  public var name: String
  public var byteCount: UInt64
  /// When it was last written to, by the system clock, nanoseconds since 1970.
  public var writtenNanosecondsSince1970: Int64

  public init(name: String, byteCount: UInt64, writtenNanosecondsSince1970: Int64) {
    self.name = name
    self.byteCount = byteCount
    self.writtenNanosecondsSince1970 = writtenNanosecondsSince1970
  }
}

/// A segment that is being written.
public protocol SegmentFile: AnyObject {
  /// As `MCAPSink`'s: all of the bytes, or else none.
  func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError)
  /// Returns once all that was appended is on the disk.
  func synchronize() throws(MCAPError)
  /// Whether who looks for it under its name finds it: one that was removed can be written to for ever, for nobody.
  var isThere: Bool { get }
}
