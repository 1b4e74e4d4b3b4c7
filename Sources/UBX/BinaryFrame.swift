/// A complete message of a receiver's binary protocol, with a verified checksum.
///
/// The frame points into a buffer of the framer or of the framer's caller, and is valid only during the call that
/// passes it.
public struct BinaryFrame {
  public enum Format: UInt8, Sendable {
    /// u-blox: `B5 62`, class, identifier, length, payload, Fletcher's checksum in 8 bits.
    case ubx
    /// CASIC: `BA CE`, length, class, identifier, payload, the sum of its words.
    case casic
    /// Corrections: `D3`, length in 10 bits, payload, CRC-24Q.
    case rtcm3
  }

  public let format: Format
  /// The class in the upper byte and the identifier in the lower one; for RTCM 3 the message's number.
  public let kind: UInt16
  public let payload: LittleEndianBytes
  /// The bytes as received, from the first sync character to the checksum.
  public let bytes: UnsafeBufferPointer<UInt8>
  /// When the frame's first byte was read, in nanoseconds of the caller's clock.
  public let beganAt: Int64

  init(
    _ format: Format, kind: UInt16, payload: Range<Int>, of bytes: UnsafeBufferPointer<UInt8>, beganAt: Int64
  ) {
    self.format = format
    self.kind = kind
    self.payload = LittleEndianBytes(UnsafeBufferPointer(rebasing: bytes[payload]))
    self.bytes = bytes
    self.beganAt = beganAt
  }
}
