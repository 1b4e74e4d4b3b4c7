import Hub

/// How much is recorded, in which pieces and how soon it is on the disk.
public struct RecordingLimits: Sendable {
  /// Of all segments together; `nil` for one file, which begins at once and takes all that comes.
  var byteLimit: UInt64?
  var ageLimit: Duration?
  var synchronizeInterval: Duration

  var isOneFile: Bool { byteLimit == nil }
  /// A small budget has small segments: with each that is removed not more than an eighth is forgotten.
  var segmentByteLimit: UInt64? { byteLimit.map { min(64_000_000, $0 / 8) } }
  /// What is in one segment goes together, so it has to be of about the same age.
  var segmentAgeLimit: Duration? { ageLimit.map { $0 / 8 } }
  var chunkByteLimit: Int { min(256 << 10, segmentByteLimit.map { Int($0 / 4) } ?? .max) }

  private init(byteLimit: UInt64?, ageLimit: Duration?, synchronizeInterval: Duration) {
    self.byteLimit = byteLimit
    self.ageLimit = ageLimit
    self.synchronizeInterval = synchronizeInterval
  }

  init(_ settings: RecordSettings) {
    self.init(
      byteLimit: UInt64(settings.maximumMegabytes) * 1_000_000, ageLimit: settings.maximumAge,
      synchronizeInterval: settings.syncInterval)
  }

  /// One file, however large it grows, for somebody who waits for it: it is there even if nothing comes.
  public static func oneFile(synchronizeInterval: Duration) -> RecordingLimits {
    RecordingLimits(byteLimit: nil, ageLimit: nil, synchronizeInterval: synchronizeInterval)
  }
}
