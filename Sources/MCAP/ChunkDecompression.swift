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
