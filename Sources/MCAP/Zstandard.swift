/// The functions of libzstd that chunks need (zstd.h, version 1). The library is loaded on first use.
///
/// The value contains only addresses of C functions, which never change. Several threads may therefore share it, each
/// with buffers and contexts of its own.
struct Zstandard: Sendable {
  typealias Compress =
    @Sendable @convention(c) (
      OpaquePointer?, UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int, Int32
    ) -> Int

  /// `nil` if the library is not installed.
  static let library = Zstandard("libzstd.so.1")

  let createContext: @Sendable @convention(c) () -> OpaquePointer?
  let freeContext: @Sendable @convention(c) (OpaquePointer?) -> Int
  let compress: Compress
  let decompress: @Sendable @convention(c) (UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int) -> Int
  let contentByteCount: @Sendable @convention(c) (UnsafeRawPointer?, Int) -> UInt64
  let isError: @Sendable @convention(c) (Int) -> UInt32

  init?(_ name: String) {
    guard let library = SharedLibrary(name),
      let createContext = library.function(
        "ZSTD_createCCtx", as: (@Sendable @convention(c) () -> OpaquePointer?).self),
      let freeContext = library.function(
        "ZSTD_freeCCtx", as: (@Sendable @convention(c) (OpaquePointer?) -> Int).self),
      let compress = library.function("ZSTD_compressCCtx", as: Compress.self),
      let decompress = library.function(
        "ZSTD_decompress",
        as: (@Sendable @convention(c) (UnsafeMutableRawPointer?, Int, UnsafeRawPointer?, Int) -> Int).self),
      let contentByteCount = library.function(
        "ZSTD_getFrameContentSize", as: (@Sendable @convention(c) (UnsafeRawPointer?, Int) -> UInt64).self),
      let isError = library.function("ZSTD_isError", as: (@Sendable @convention(c) (Int) -> UInt32).self)
    else { return nil }
    self.createContext = createContext
    self.freeContext = freeContext
    self.compress = compress
    self.decompress = decompress
    self.contentByteCount = contentByteCount
    self.isError = isError
  }

  /// Whether the compressed bytes can decompress to this size, according to their frame header.
  func canBe(_ byteCount: Int, _ compressed: UnsafeRawBufferPointer) -> Bool {
    switch contentByteCount(compressed.baseAddress, compressed.count) {
    // ZSTD_CONTENTSIZE_ERROR: the bytes are no frame.
    case .max - 1: false
    // ZSTD_CONTENTSIZE_UNKNOWN: the header does not say.
    case .max: true
    // The header states the size of the first frame, and further frames may follow.
    case let known: known <= UInt64(byteCount)
    }
  }

  /// Decompresses bytes into a buffer. Returns `false` if the bytes are damaged or do not fill the buffer exactly.
  func decompress(_ compressed: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
    let count = decompress(buffer.baseAddress, buffer.count, compressed.baseAddress, compressed.count)
    return isError(count) == 0 && count == buffer.count
  }
}
