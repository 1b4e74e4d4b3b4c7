import Glibc

/// Compresses the records of finished chunks into a buffer that is kept, with a context that is kept.
///
/// The context is this value's alone, and a value that cannot be copied is used by one thread at a time: so it may be handed to
/// another, whatever the context is.
struct ChunkCompressor: ~Copyable, @unchecked Sendable {
  /// The chunk's record, and the message indexes behind it.
  private(set) var bytes: [UInt8]

  private let library: Zstandard
  private let context: OpaquePointer
  private let level: Int32

  static let name = "zstd"

  /// - Parameter library: `nil` where there is none
  init(level: Int, _ library: Zstandard?) throws(MCAPError) {
    guard let library else { throw .missingLibrary(ChunkCompressor.name) }
    guard let context = library.createContext() else { throw .system("compressing", errno: ENOMEM) }
    // Last: of a value that is given up half-way Swift 6.2 makes code that it refuses itself.
    bytes = []
    self.library = library
    self.context = context
    // Higher ones take memory that only their kind of reader has.
    self.level = Int32(max(1, min(level, 19)))
  }

  deinit { _ = library.freeContext(context) }

  mutating func reserve(_ recordsByteCount: Int) {
    bytes.reserveCapacity(ChunkLayout(compression: ChunkCompressor.name, recordsByteCount: recordsByteCount).byteCount)
  }

  /// Puts what belongs behind the chunk's message indexes there, once it is finished.
  mutating func append(behind bytes: [UInt8]) { self.bytes += bytes }

  /// Finishes a chunk as `bytes` if it becomes smaller so; returns `nil` if it does not, and has not been touched.
  mutating func finish(_ chunk: inout ChunkBuilder, at offset: UInt64) -> MCAPChunkIndex? {
    let start = ChunkLayout(compression: ChunkCompressor.name, recordsByteCount: 0).byteCount
    // No more room than would be worth it: then the library gives up.
    let room = chunk.recordsByteCount - ChunkCompressor.name.utf8.count - 1
    guard room > 0 else { return nil }
    bytes.removeAll(keepingCapacity: true)
    bytes.append(contentsOf: repeatElement(0, count: start + room))
    let count = bytes.withUnsafeMutableBytes { bytes in
      chunk.records.withUnsafeBytes { records in
        library.compress(
          context, bytes.baseAddress.map { $0 + start }, room, records.baseAddress, records.count, level)
      }
    }
    guard library.isError(count) == 0 else { return nil }
    bytes.removeLast(room - count)
    let layout = ChunkLayout(compression: ChunkCompressor.name, recordsByteCount: count)
    chunk.writeHeader(layout, to: &bytes)
    let index = chunk.addMessageIndexes(to: layout, at: offset)
    bytes.append(contentsOf: chunk.messageIndexes)
    return index
  }
}
