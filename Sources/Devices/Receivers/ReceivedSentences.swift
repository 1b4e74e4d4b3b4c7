import MonotonicTime

/// Whole sentences of a receiver as they came, a line each, with their line ends.
public struct ReceivedSentences: Sendable {
  public var bytes: [UInt8]
  /// When the first byte of the first of them was read; the others began with the read that ended that one.
  public var beganAt: MonotonicInstant
  /// When the last of them was whole.
  public var readAt: MonotonicInstant

  public init(bytes: [UInt8], beganAt: MonotonicInstant, readAt: MonotonicInstant) {
    self.bytes = bytes
    self.beganAt = beganAt
    self.readAt = readAt
  }

  /// None: for so long that an epoch is over.
  public static func silence(until instant: MonotonicInstant) -> ReceivedSentences {
    ReceivedSentences(bytes: [], beganAt: instant, readAt: instant)
  }

  /// Whether it tells that nothing came until `beganAt`, which ended an epoch.
  public var isSilence: Bool { bytes.isEmpty }
}
