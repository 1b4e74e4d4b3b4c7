import MonotonicTime

/// Complete sentences of a receiver as received, each with its line end, or complete messages of a binary protocol.
public struct ReceivedBytes: Sendable {
  public var bytes: [UInt8]
  /// Whether `bytes` are messages of a binary protocol, and not text.
  public var isBinary: Bool
  /// When the first byte of each sentence or message was read. All of them began in the same read; the rest of the
  /// last one may have been read later.
  public var beganAt: MonotonicInstant
  /// When the last sentence or message was complete.
  public var readAt: MonotonicInstant

  public init(bytes: [UInt8], isBinary: Bool = false, beganAt: MonotonicInstant, readAt: MonotonicInstant) {
    self.bytes = bytes
    self.isBinary = isBinary
    self.beganAt = beganAt
    self.readAt = readAt
  }
}
