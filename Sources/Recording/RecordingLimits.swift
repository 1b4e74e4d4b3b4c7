import Hub

/// How much is recorded, in which pieces and how soon it is on the disk.
struct RecordingLimits: Sendable {
  /// Of all segments together.
  var byteLimit: UInt64
  var ageLimit: Duration?
  var synchronizeInterval: Duration

  /// A small budget has small segments: with each that is removed not more than an eighth is forgotten.
  var segmentByteLimit: UInt64 { min(64_000_000, byteLimit / 8) }
  /// What is in one segment goes together, so it has to be of about the same age.
  var segmentAgeLimit: Duration? { ageLimit.map { $0 / 8 } }
  var chunkByteLimit: Int { min(256 << 10, Int(segmentByteLimit / 4)) }

  init(_ settings: RecordSettings) {
    byteLimit = UInt64(settings.maximumMegabytes) * 1_000_000
    ageLimit = settings.maximumAge
    synchronizeInterval = settings.syncInterval
  }
}
