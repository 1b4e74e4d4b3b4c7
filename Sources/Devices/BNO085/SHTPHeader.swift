/// What begins each transfer of SHTP, CEVA's Sensor Hub Transport Protocol (BNO08X data sheet 1000-3927, figure 1-26).
struct SHTPHeader {
  static let length = 4
  static let channelCount = 6
  /// The chip's longest packet is its advertisement, of 276 bytes; a header that announces much more was garbled.
  static let longestPacket = 512

  /// Of header and cargo, or of a header and the rest of the cargo.
  let packetLength: Int
  /// Others of the same cargo have come before; one that took the header alone counts.
  let isContinuation: Bool
  let channel: UInt8
  let sequence: UInt8

  init(_ bytes: UnsafeRawBufferPointer) {
    packetLength = Int(bytes[1] & 0x7F) << 8 | Int(bytes[0])
    isContinuation = bytes[1] & 0x80 != 0
    channel = bytes[2]
    sequence = bytes[3]
  }

  /// The chip has nothing to say.
  var isEmpty: Bool { packetLength == 0 || packetLength == SHTPHeader.length }

  /// Whether a chip can have sent it; one that was garbled is mostly all ones, or has a byte that is.
  var isPossible: Bool {
    packetLength > SHTPHeader.length && packetLength <= SHTPHeader.longestPacket && channel < SHTPHeader.channelCount
  }
}
