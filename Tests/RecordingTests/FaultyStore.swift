import Glibc
import Guarding
import MCAP

@testable import Recording

/// A folder on a disk that is full, small or broken for as long as a test wants.
final class FaultyStore: SegmentStore {
  private final class FaultyFile: SegmentFile {
    let file: any SegmentFile
    let store: FaultyStore

    init(_ file: any SegmentFile, _ store: FaultyStore) {
      self.file = file
      self.store = store
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError) {
      try store.fail(growth: file.growth(by: bytes.count))
      try file.append(bytes)
    }

    func synchronize() throws(MCAPError) {
      try store.fail()
      try file.synchronize()
    }

    func finish() throws(MCAPError) {
      try store.fail()
      try file.finish()
    }

    var takenByteCount: UInt64 { file.takenByteCount }
    func growth(by count: Int) -> UInt64 { file.growth(by: count) }
    var isThere: Bool { file.isThere }
  }

  private let folder: SegmentFolder
  private struct State {
    var errno: Int32?
    var byteLimit = UInt64.max
    var attempts = 0
  }

  private let state = Guarded(State())

  init(_ folder: SegmentFolder) { self.folder = folder }

  /// Sets the error of every write; `nil` for none.
  func set(errno: Int32?) { state.withLock { $0.errno = errno } }

  /// Sets the capacity of the disk.
  func set(byteLimit: UInt64) { state.withLock { $0.byteLimit = byteLimit } }

  /// The number of failed writes.
  var attempts: Int { state.withLock { $0.attempts } }

  fileprivate func fail(growth: UInt64 = 0) throws(MCAPError) {
    let taken = folder.segments.reduce(growth) { $0 + $1.byteCount }
    let errno = state.withLock { (state) -> Int32? in
      if growth > 0, taken > state.byteLimit { return ENOSPC }
      if state.errno != nil { state.attempts += 1 }
      return state.errno
    }
    if let errno { throw .system("writing", errno: errno) }
  }

  var segments: [StoredSegment] { folder.segments }
  func create(_ name: String, limit: UInt64?) throws(MCAPError) -> any SegmentFile {
    try fail()
    return FaultyFile(try folder.create(name, limit: limit), self)
  }
  func recycle(_ old: String, as name: String, limit: UInt64?) throws(MCAPError) -> (any SegmentFile)? {
    try fail()
    return try folder.recycle(old, as: name, limit: limit).map { FaultyFile($0, self) }
  }
  func setWritten(_ name: String, nanosecondsSince1970: Int64) {
    folder.setWritten(name, nanosecondsSince1970: nanosecondsSince1970)
  }
  func remove(_ name: String) throws(MCAPError) { try folder.remove(name) }
  func repair(_ name: String) throws(MCAPError) -> MCAPRepair { try folder.repair(name) }
}
