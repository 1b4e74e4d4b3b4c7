import MCAP

/// Where segments are kept: a folder, or what a test puts in its place. Everything here may take its time.
public protocol SegmentStore: Sendable {
  /// Those that are there, the oldest first; none where there is no such place yet.
  var segments: [StoredSegment] { get }
  /// What still has room there; `nil` where that is not known.
  var freeByteCount: UInt64? { get }
  /// Makes a new one, and the place for it where that is missing.
  ///
  /// - Parameter limit: what it will take up in the end, in bytes; `nil` where that is not known
  func create(_ name: String, limit: UInt64?) throws(MCAPError) -> any SegmentFile
  /// Has an old one written over as a new one, which costs the disk less than a file that grows; it gets the new name with its
  /// first bytes.
  ///
  /// - Returns: `nil` where that cannot be: then it has to be removed
  func recycle(_ old: String, as name: String, limit: UInt64?) throws(MCAPError) -> (any SegmentFile)?
  /// Removes one; nothing where it is gone already.
  func remove(_ name: String) throws(MCAPError)
  /// Says when one was last written to: the system's clock was wrong then.
  func setWritten(_ name: String, nanosecondsSince1970: Int64)
  /// Whether somebody is writing to one just now.
  func isHeld(_ name: String) -> Bool
  /// Makes one whole that was cut.
  func repair(_ name: String) throws(MCAPError) -> MCAPRepair
}

extension SegmentStore {
  public var freeByteCount: UInt64? { nil }
  public func recycle(_ old: String, as name: String, limit: UInt64?) throws(MCAPError) -> (any SegmentFile)? { nil }
  public func setWritten(_ name: String, nanosecondsSince1970: Int64) {}
  /// A place that nobody else knows.
  public func isHeld(_ name: String) -> Bool { false }
}

/// A segment as it lies there.
public struct StoredSegment: Equatable, Sendable {
  public var name: String
  /// What it takes up.
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
  /// Gives back what it takes up beyond what was appended, and returns once that and the rest are on the disk.
  func finish() throws(MCAPError)
  /// What it takes up, what is reserved for it and what is left of an older one among it.
  var takenByteCount: UInt64 { get }
  /// How much more it will take up once so many bytes more are appended.
  func growth(by count: Int) -> UInt64
  /// Whether who looks for it under its name finds it: one that was removed can be written to for ever, for nobody.
  var isThere: Bool { get }
}

extension SegmentFile {
  // What is sent away takes up nothing, and needs no end.
  public func finish() throws(MCAPError) { try synchronize() }
  public var takenByteCount: UInt64 { 0 }
  public func growth(by count: Int) -> UInt64 { 0 }
}
