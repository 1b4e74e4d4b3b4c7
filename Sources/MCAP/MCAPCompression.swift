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
