/// The header of each transfer of SHTP, CEVA's Sensor Hub Transport Protocol (BNO08X data sheet 1000-3927, figure
/// 1-26).
struct SHTPHeader {
  static let length = 4
  static let channelCount = 6
  /// The longest plausible packet. The longest packet of the chip is its advertisement, of 276 bytes.
  static let longestPacket = 512

  /// The length in bytes that the header states: the header plus the rest of the cargo. In the first transfer of a
  /// packet, the rest is the whole cargo.
  let packetLength: Int
  /// Whether an earlier transfer began the same packet. A transfer of only the header counts.
  let isContinuation: Bool
  let channel: UInt8
  let sequence: UInt8

  init(_ bytes: UnsafeRawBufferPointer) {
    packetLength = Int(bytes[1] & 0x7F) << 8 | Int(bytes[0])
    isContinuation = bytes[1] & 0x80 != 0
    channel = bytes[2]
    sequence = bytes[3]
  }

  /// Whether the chip has no output.
  var isEmpty: Bool { packetLength == 0 || packetLength == SHTPHeader.length }

  /// Whether a chip can have sent this header. In a garbled header, most bits are ones, or all bits of one byte are.
  var isPossible: Bool {
    packetLength > SHTPHeader.length && packetLength <= SHTPHeader.longestPacket && channel < SHTPHeader.channelCount
  }
}
