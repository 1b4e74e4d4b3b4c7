/// How a writer compresses its chunks.
public enum MCAPCompression: Equatable, Sendable {
  case none
  /// Zstandard: 1 is fastest and the usual choice, 19 takes hundred times as long for a few percent.
  case zstd(level: Int = 1)

  /// Whether this machine can: for zstd libzstd.so.1 has to be there, which is looked for now.
  public var isAvailable: Bool {
    switch self {
    case .none: true
    case .zstd: Zstandard.library != nil
    }
  }

  /// Whether chunks can be read that are compressed so.
  ///
  /// - Parameter name: as the format has it; empty for not at all
  static func isReadable(_ name: String) -> Bool {
    switch name {
    case "": true
    case "zstd": Zstandard.library != nil
    case "lz4": LZ4.library != nil
    default: false
    }
  }

  /// The Debian package that has the library for a compression of the format's; `nil` where none is used here.
  static func package(for name: String) -> String? {
    switch name {
    case "zstd": "libzstd1"
    case "lz4": "liblz4-1"
    default: nil
    }
  }
}
