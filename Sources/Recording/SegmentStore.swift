import MCAP

/// A place for segments: a folder, or a test's replacement. All calls may block.
public protocol SegmentStore: Sendable {
  /// The existing segments, the oldest first; none if the place does not exist yet.
  var segments: [StoredSegment] { get }
  /// The free space; `nil` if unknown.
  var freeByteCount: UInt64? { get }
  /// Makes a new segment, and its place if that is missing.
  ///
  /// - Parameter limit: the final size in bytes; `nil` if unknown
  func create(_ name: String, limit: UInt64?) throws(MCAPError) -> any SegmentFile
  /// Reuses an old segment as a new one, which costs the disk less than a growing file. It gets the new name with its
  /// first bytes.
  ///
  /// - Returns: `nil` if that is impossible; then the old segment must be removed
  func recycle(_ old: String, as name: String, limit: UInt64?) throws(MCAPError) -> (any SegmentFile)?
  /// Removes a segment; does nothing if it does not exist.
  func remove(_ name: String) throws(MCAPError)
  /// Sets when a segment was last written to, because the system clock was wrong then.
  func setWritten(_ name: String, nanosecondsSince1970: Int64)
  /// Whether a program is writing to a segment at present.
  func isHeld(_ name: String) -> Bool
  /// Repairs a segment that has no end.
  func repair(_ name: String) throws(MCAPError) -> MCAPRepair
}

extension SegmentStore {
  public var freeByteCount: UInt64? { nil }
  public func recycle(_ old: String, as name: String, limit: UInt64?) throws(MCAPError) -> (any SegmentFile)? { nil }
  public func setWritten(_ name: String, nanosecondsSince1970: Int64) {}
  /// No other program knows such a place.
  public func isHeld(_ name: String) -> Bool { false }
}

/// A segment as it is stored.
public struct StoredSegment: Equatable, Sendable {
  public var name: String
  /// Its size on the disk.
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
  /// Appends all of the bytes, or none; see `MCAPSink`.
  func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError)
  /// Returns once everything appended is on the disk.
  func synchronize() throws(MCAPError)
  /// Releases reserved space, and returns once that and the contents are on the disk.
  func finish() throws(MCAPError)
  /// The size on the disk, including reserved space and the rest of an overwritten segment.
  var takenByteCount: UInt64 { get }
  /// The growth of its size on the disk if this number of bytes is appended.
  func growth(by count: Int) -> UInt64
  /// Whether the file still has its name. A removed file can be written to for ever, without a reader.
  var isThere: Bool { get }
}

extension SegmentFile {
  // Bytes that are sent to a client use no space, and need no end.
  public func finish() throws(MCAPError) { try synchronize() }
  public var takenByteCount: UInt64 { 0 }
  public func growth(by count: Int) -> UInt64 { 0 }
}
