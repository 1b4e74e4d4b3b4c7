import Glibc

/// The compression that a writer applies to its chunks.
public enum MCAPCompression: Equatable, Sendable {
  case none
  /// Zstandard. Level 1 is the fastest and the usual choice; level 19 takes a hundred times as long to save a few
  /// percent. A writer limits the level to 1...19.
  case zstd(level: Int = 1)

  /// Whether this machine supports the compression. Zstandard requires libzstd.so.1; the call looks for it.
  public var isAvailable: Bool {
    switch self {
    case .none: true
    case .zstd: Zstandard.library != nil
    }
  }

  /// Whether this machine can read chunks with a compression.
  ///
  /// - Parameter name: the name in the file format; empty for none
  static func isReadable(_ name: String) -> Bool {
    switch name {
    case "": true
    case "zstd": Zstandard.library != nil
    case "lz4": LZ4.library != nil
    default: false
    }
  }

  /// The Debian package that provides the library for a compression; `nil` if the compression is not supported or
  /// needs none.
  static func package(for name: String) -> String? {
    switch name {
    case "zstd": "libzstd1"
    case "lz4": "liblz4-1"
    default: nil
    }
  }
}

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
    // Levels above 19 need more memory, in the reader as well.
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

/// The decompression methods that are available.
struct ChunkDecompression: Sendable {
  private let zstandard: @Sendable () -> Zstandard?
  private let lz4: @Sendable () -> LZ4?

  /// The methods whose libraries are installed on this machine.
  static let ofThisMachine = ChunkDecompression(zstandard: { Zstandard.library }, lz4: { LZ4.library })
  /// No method, as on a machine without these libraries.
  static let none = ChunkDecompression(zstandard: { nil }, lz4: { nil })

  /// Decompresses the records of a chunk.
  ///
  /// The size given in the file is not trusted. It is first compared with the limit and, for Zstandard, with the size
  /// that the compressed bytes state, so that a wrong size does not allocate memory.
  ///
  /// - Parameters:
  ///   - limit: the largest permitted size of the records in bytes
  ///   - recordOffset: the file offset of the chunk, for errors
  func records(
    _ header: ChunkHeader, _ bytes: ArraySlice<UInt8>, limit: Int, recordOffset: UInt64
  ) throws(MCAPError) -> [UInt8] {
    if header.uncompressedByteCount == 0, bytes.isEmpty { return [] }
    let malformed = MCAPError.malformed("compressed chunk", offset: recordOffset)
    let unreadable = MCAPError.compressed(header.compression, offset: recordOffset)
    let decompress: @Sendable (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) -> Bool
    switch header.compression {
    case "zstd":
      guard let library = zstandard() else { throw unreadable }
      let count = Int(exactly: header.uncompressedByteCount) ?? 0
      guard count > 0 || header.uncompressedByteCount == 0, bytes.withUnsafeBytes({ library.canBe(count, $0) }) else {
        throw malformed
      }
      decompress = { library.decompress($0, into: $1) }
    case "lz4":
      guard let library = lz4() else { throw unreadable }
      decompress = { library.decompress($0, into: $1) }
    default: throw unreadable
    }
    guard let count = Int(exactly: header.uncompressedByteCount), count <= limit else {
      throw .tooLarge("decompressed chunk", byteCount: header.uncompressedByteCount, limit: UInt64(max(0, limit)))
    }
    var isRight = false
    let records = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
      isRight = bytes.withUnsafeBytes {
        decompress($0, UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]))
      }
      initializedCount = isRight ? count : 0
    }
    guard isRight else { throw malformed }
    return records
  }
}
