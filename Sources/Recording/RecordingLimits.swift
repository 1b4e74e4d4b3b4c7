import Hub
import MCAP

/// The limits of a recording: its size, its segments, and the delay until it is on the disk.
public struct RecordingLimits: Sendable {
  /// The size of all segments together; `nil` for one file, which begins at once and has no limit.
  var byteLimit: UInt64?
  var ageLimit: Duration?
  var synchronizeInterval: Duration
  /// The maximum number of segments. A hub that wakes for a minute each hour makes many small ones.
  var segmentCountLimit = 1000
  /// The time without anything to record after which a segment ends, so that every program can open it.
  var restLimit = Duration.seconds(600)
  var compression = MCAPCompression.none
  /// The reason why nothing is compressed although that is configured; `nil` if it is compressed, or not configured.
  var missingCompression: MCAPError?

  var isOneFile: Bool { byteLimit == nil }
  /// The maximum size of a segment. A small budget has small segments, so that removing one loses at most an eighth. It
  /// is a number of whole blocks, less two for the file system's own data.
  var segmentByteLimit: UInt64? {
    let block = UInt64(FolderFile.blockByteCount)
    return byteLimit.map { (max(min(64_000_000, $0 / 8) / block, 6) - 2) * block }
  }
  /// The maximum age of a segment's contents, because they are removed together.
  var segmentAgeLimit: Duration? { ageLimit.map { $0 / 8 } }
  var chunkByteLimit: Int { min(256 << 10, segmentByteLimit.map { Int($0 / 4) } ?? .max) }

  private init(byteLimit: UInt64?, ageLimit: Duration?, synchronizeInterval: Duration) {
    self.byteLimit = byteLimit
    self.ageLimit = ageLimit
    self.synchronizeInterval = synchronizeInterval
  }

  /// - Parameter canCompress: whether this machine has the library for it
  init(_ settings: RecordSettings, canCompress: (MCAPCompression) -> Bool = { $0.isAvailable }) {
    self.init(
      byteLimit: UInt64(settings.maximumMegabytes) * 1_000_000, ageLimit: settings.maximumAge,
      synchronizeInterval: settings.syncInterval)
    let wanted: MCAPCompression =
      switch settings.compression {
      case .none: .none
      case .zstd: .zstd()
      }
    if canCompress(wanted) {
      compression = wanted
    } else {
      missingCompression = .missingLibrary(settings.compression.rawValue)
    }
  }

  /// One file of any size, for a client that waits for it. It exists even if nothing is recorded.
  public static func oneFile(synchronizeInterval: Duration) -> RecordingLimits {
    RecordingLimits(byteLimit: nil, ageLimit: nil, synchronizeInterval: synchronizeInterval)
  }
}
