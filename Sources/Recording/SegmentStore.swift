import MCAP

/// Where segments are stored: in a folder, or in a test's replacement of it. All calls may block.
public protocol SegmentStore: Sendable {
  /// The existing segments, the oldest first; empty if the folder does not exist yet.
  var segments: [StoredSegment] { get }
  /// The free space in bytes; `nil` if unknown.
  var freeByteCount: UInt64? { get }
  /// Makes a new segment. If its folder is missing, makes the folder too.
  ///
  /// - Parameter limit: the planned final size in bytes; `nil` if unknown
  func create(_ name: String, limit: UInt64?) throws(MCAPError) -> any SegmentFile
  /// Reuses an old segment as a new one, which is less work for the disk than a growing file. The segment gets its new
  /// name with its first bytes.
  ///
  /// - Returns: `nil` if the old segment cannot be reused and must be removed
  func recycle(_ old: String, as name: String, limit: UInt64?) throws(MCAPError) -> (any SegmentFile)?
  /// Removes a segment; does nothing if it does not exist.
  func remove(_ name: String) throws(MCAPError)
  /// Sets when a segment was last written to. Use this if the system clock was wrong then.
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
  /// By default no other program writes to a segment.
  public func isHeld(_ name: String) -> Bool { false }
}

/// A segment in a store, with its size and age.
public struct StoredSegment: Equatable, Sendable {
  public var name: String
  /// The segment's size on the disk, in bytes.
  public var byteCount: UInt64
  /// When the segment was last written to, by the system clock, nanoseconds since 1970.
  public var writtenNanosecondsSince1970: Int64

  public init(name: String, byteCount: UInt64, writtenNanosecondsSince1970: Int64) {
    self.name = name
    self.byteCount = byteCount
    self.writtenNanosecondsSince1970 = writtenNanosecondsSince1970
  }
}

/// A segment that is being written.
public protocol SegmentFile: AnyObject {
  /// Appends all of the bytes, or none of them; see `MCAPSink`.
  func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError)
  /// Returns once everything appended is on the disk.
  func synchronize() throws(MCAPError)
  /// Ends the file and releases its reserved space. Returns once the contents and the new size are on the disk.
  func finish() throws(MCAPError)
  /// The size on the disk, including reserved space and the rest of an overwritten segment.
  var takenByteCount: UInt64 { get }
  /// By how many bytes the size on the disk grows if this number of bytes is appended.
  func growth(by count: Int) -> UInt64
  /// Whether the file still has its name. Writing to a removed file succeeds, but no program can read it.
  var isThere: Bool { get }
}

extension SegmentFile {
  // A file that is sent to a client reserves no space, so there is none to release.
  public func finish() throws(MCAPError) { try synchronize() }
  public var takenByteCount: UInt64 { 0 }
  public func growth(by count: Int) -> UInt64 { 0 }
}
