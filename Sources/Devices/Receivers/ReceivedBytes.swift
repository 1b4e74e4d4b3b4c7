import MonotonicTime

/// Complete sentences of a receiver as received, one per line with its line end, or complete messages of a binary
/// protocol.
public struct ReceivedBytes: Sendable {
  public var bytes: [UInt8]
  /// Whether these are messages, which are not text.
  public var isBinary: Bool
  /// When the first byte of each of them was read. Several were read at once; the rest of one may have come later.
  public var beganAt: MonotonicInstant
  /// When the last of them was complete.
  public var readAt: MonotonicInstant

  public init(bytes: [UInt8], isBinary: Bool = false, beganAt: MonotonicInstant, readAt: MonotonicInstant) {
    self.bytes = bytes
    self.isBinary = isBinary
    self.beganAt = beganAt
    self.readAt = readAt
  }
}
