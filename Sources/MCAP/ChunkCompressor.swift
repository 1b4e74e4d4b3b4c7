import Glibc

/// Compresses the records of finished chunks. The buffer and the compression context are reused.
///
/// `@unchecked` is safe here: the context belongs to this value alone. The value cannot be copied, so only one thread
/// at a time can use it, and it may be handed to another thread.
struct ChunkCompressor: ~Copyable, @unchecked Sendable {
  /// The record of the compressed chunk, followed by its message indexes.
  private(set) var bytes: [UInt8]

  private let library: Zstandard
  private let context: OpaquePointer
  private let level: Int32

  static let name = "zstd"

  /// - Parameter library: `nil` if the library is not installed; the initializer then throws `missingLibrary`
  init(level: Int, _ library: Zstandard?) throws(MCAPError) {
    guard let library else { throw .missingLibrary(ChunkCompressor.name) }
    guard let context = library.createContext() else { throw .system("compressing", errno: ENOMEM) }
    // Assigned after the last `throw`: Swift 6.2 generates invalid code if an initializer throws while a noncopyable
    // value is only partly initialized.
    bytes = []
    self.library = library
    self.context = context
    // Levels above 19 need more memory, also in the reader.
    self.level = Int32(max(1, min(level, 19)))
  }

  deinit { _ = library.freeContext(context) }

  mutating func reserve(_ recordsByteCount: Int) {
    bytes.reserveCapacity(ChunkLayout(compression: ChunkCompressor.name, recordsByteCount: recordsByteCount).byteCount)
  }

  /// Appends bytes that follow the chunk's message indexes. Call it after `finish`.
  mutating func append(behind bytes: [UInt8]) { self.bytes += bytes }

  /// Compresses and finishes a chunk into `bytes`. Returns `nil`, and leaves the chunk unchanged, if the compression
  /// fails or does not make the chunk smaller.
  mutating func finish(_ chunk: inout ChunkBuilder, at offset: UInt64) -> MCAPChunkIndex? {
    let start = ChunkLayout(compression: ChunkCompressor.name, recordsByteCount: 0).byteCount
    // The buffer has the largest size at which compression is worthwhile. If more is needed, the library gives up.
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
