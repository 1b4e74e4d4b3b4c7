import Hub
import MCAP

/// The limits of a recording: its size and age, its segments, and the delay until data is on the disk.
public struct RecordingLimits: Sendable {
  /// The maximum size of all segments together; `nil` for a single file, which begins at once and has no limit.
  var byteLimit: UInt64?
  var ageLimit: Duration?
  var synchronizeInterval: Duration
  /// The maximum number of segments. A hub that wakes for a minute each hour makes many small ones.
  var segmentCountLimit = 1000
  /// After this time without data a segment ends, so that every program can open it.
  var restLimit = Duration.seconds(600)
  var compression = MCAPCompression.none
  /// The reason why the recording is not compressed, although the settings request it; `nil` otherwise.
  var missingCompression: MCAPError?

  var isOneFile: Bool { byteLimit == nil }
  /// The maximum size of a segment: 64 MB, but at most an eighth of the budget, so that removing one loses no more than
  /// that. The size is a number of whole blocks, less two for the file system's own data.
  var segmentByteLimit: UInt64? {
    let block = UInt64(FolderFile.blockByteCount)
    return byteLimit.map { (max(min(64_000_000, $0 / 8) / block, 6) - 2) * block }
  }
  /// The maximum age of a segment's first message, an eighth of `ageLimit`. The contents of a segment are removed
  /// together, so a segment must not cover a longer time.
  var segmentAgeLimit: Duration? { ageLimit.map { $0 / 8 } }
  var chunkByteLimit: Int { min(256 << 10, segmentByteLimit.map { Int($0 / 4) } ?? .max) }

  private init(byteLimit: UInt64?, ageLimit: Duration?, synchronizeInterval: Duration) {
    self.byteLimit = byteLimit
    self.ageLimit = ageLimit
    self.synchronizeInterval = synchronizeInterval
  }

  /// - Parameter canCompress: whether this machine has the library for a compression
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

  /// A single file of any size, for a client that waits for it. The file is made even if no data is recorded.
  public static func oneFile(synchronizeInterval: Duration) -> RecordingLimits {
    RecordingLimits(byteLimit: nil, ageLimit: nil, synchronizeInterval: synchronizeInterval)
  }
}
