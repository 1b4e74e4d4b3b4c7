import MonotonicTime

/// Whole sentences of a receiver as they came, a line each, with their line ends; or whole messages of a binary protocol.
public struct ReceivedBytes: Sendable {
  public var bytes: [UInt8]
  /// Messages, which are no text.
  public var isBinary: Bool
  /// When the first byte of each of them was read. Several of them were read at once; of one the rest may have come later.
  public var beganAt: MonotonicInstant
  /// When the last of them was whole.
  public var readAt: MonotonicInstant

  public init(bytes: [UInt8], isBinary: Bool = false, beganAt: MonotonicInstant, readAt: MonotonicInstant) {
    self.bytes = bytes
    self.isBinary = isBinary
    self.beganAt = beganAt
    self.readAt = readAt
  }
}
