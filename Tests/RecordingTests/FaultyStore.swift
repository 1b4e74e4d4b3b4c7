import Guarding
import MCAP

@testable import Recording

/// A folder on a disk that is full, or broken, for as long as a test wants.
final class FaultyStore: SegmentStore {
  private final class FaultyFile: SegmentFile {
    let file: any SegmentFile
    let store: FaultyStore

    init(_ file: any SegmentFile, _ store: FaultyStore) {
      self.file = file
      self.store = store
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError) {
      try store.fail()
      try file.append(bytes)
    }

    func synchronize() throws(MCAPError) {
      try store.fail()
      try file.synchronize()
    }

    var isThere: Bool { file.isThere }
  }

  private let folder: SegmentFolder
  private let state = Guarded((errno: Int32?.none, attempts: 0))

  init(_ folder: SegmentFolder) { self.folder = folder }

  /// What every write fails with; `nil` for none.
  func set(errno: Int32?) { state.withLock { $0.errno = errno } }

  /// How often a write has failed.
  var attempts: Int { state.withLock { $0.attempts } }

  fileprivate func fail() throws(MCAPError) {
    let errno = state.withLock { state in
      if state.errno != nil { state.attempts += 1 }
      return state.errno
    }
    if let errno { throw .system("writing", errno: errno) }
  }

  var segments: [StoredSegment] { folder.segments }
  func create(_ name: String) throws(MCAPError) -> any SegmentFile {
    try fail()
    return FaultyFile(try folder.create(name), self)
  }
  func remove(_ name: String) throws(MCAPError) { try folder.remove(name) }
  func repair(_ name: String) throws(MCAPError) -> MCAPRepair { try folder.repair(name) }
}
