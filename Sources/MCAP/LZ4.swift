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
