import Glibc

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
    // ZSTD_CONTENTSIZE_ERROR: the bytes are not a frame.
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

/// The frame format of liblz4 (lz4frame.h, version 1), for reading files from other programs. The library is loaded on
/// first use.
///
/// The value contains only addresses of C functions, which never change. Several threads may therefore share it, each
/// with a context of its own.
struct LZ4: Sendable {
  typealias Create = @Sendable @convention(c) (UnsafeMutablePointer<OpaquePointer?>?, UInt32) -> Int
  typealias Decompress =
    @Sendable @convention(c) (
      OpaquePointer?, UnsafeMutableRawPointer?, UnsafeMutablePointer<Int>?, UnsafeRawPointer?,
      UnsafeMutablePointer<Int>?, UnsafeRawPointer?
    ) -> Int

  /// `nil` if the library is not installed.
  static let library = LZ4("liblz4.so.1")

  /// The version of the frame format's interface, LZ4F_VERSION.
  private static let version: UInt32 = 100

  private let createContext: Create
  private let freeContext: @Sendable @convention(c) (OpaquePointer?) -> Int
  private let decompress: Decompress
  private let isError: @Sendable @convention(c) (Int) -> UInt32

  init?(_ name: String) {
    guard let library = SharedLibrary(name),
      let createContext = library.function("LZ4F_createDecompressionContext", as: Create.self),
      let freeContext = library.function(
        "LZ4F_freeDecompressionContext", as: (@Sendable @convention(c) (OpaquePointer?) -> Int).self),
      let decompress = library.function("LZ4F_decompress", as: Decompress.self),
      let isError = library.function("LZ4F_isError", as: (@Sendable @convention(c) (Int) -> UInt32).self)
    else { return nil }
    self.createContext = createContext
    self.freeContext = freeContext
    self.decompress = decompress
    self.isError = isError
  }

  /// Decompresses bytes into a buffer. Returns `false` if the bytes are damaged or do not fill the buffer exactly.
  func decompress(_ compressed: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
    var context: OpaquePointer?
    guard isError(createContext(&context, LZ4.version)) == 0 else { return false }
    defer { _ = freeContext(context) }
    var taken = 0
    var made = 0
    while true {
      var takes = compressed.count - taken
      var makes = buffer.count - made
      let rest = UnsafeRawBufferPointer(rebasing: compressed[taken...])
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[made...])
      let hint = decompress(context, room.baseAddress, &makes, rest.baseAddress, &takes, nil)
      guard isError(hint) == 0 else { return false }
      taken += takes
      made += makes
      // The frame has ended.
      if hint == 0 { return made == buffer.count && taken == compressed.count }
      // The library makes no progress: it needs more input or more room than is left.
      guard takes > 0 || makes > 0 else { return false }
    }
  }
}

/// A shared library that is loaded on first use. The program is not linked to it, so the program starts without it.
struct SharedLibrary {
  // The library is never unloaded, because its functions may be called for as long as the program runs.
  private let handle: UnsafeMutableRawPointer

  /// - Parameter name: the file name, with the version of the interface
  init?(_ name: String) {
    guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
    self.handle = handle
  }

  /// Returns a function of the library, or `nil` if it has no function of this name.
  ///
  /// - Parameter type: the C function type, which must match the library's header
  func function<Function>(_ name: String, as type: Function.Type) -> Function? {
    // A pointer to C code and a value of a C function type have the same representation.
    dlsym(handle, name).map { unsafeBitCast($0, to: type) }
  }
}
