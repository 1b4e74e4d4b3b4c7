/// The checksums of the binary protocols.
enum BinaryChecksum {
  /// RFC 1145's checksum in 8 bits: the sum of the bytes, and the sum of these sums.
  @inline(__always)
  static func fletcher(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> (UInt8, UInt8) {
    // The sums use wider integers. Only their last 8 bits count, so an overflow does not matter.
    var a: UInt32 = 0
    var b: UInt32 = 0
    for byte in UnsafeBufferPointer(rebasing: bytes) {
      a &+= UInt32(byte)
      b &+= a
    }
    return (UInt8(truncatingIfNeeded: a), UInt8(truncatingIfNeeded: b))
  }

  /// CASIC's checksum: the sum of identifier, class and length as one word, and the payload's words.
  static func words(_ frame: LittleEndianBytes, _ payload: Range<Int>) -> UInt32 {
    var sum = UInt32(frame.uint8(5)) << 24 &+ UInt32(frame.uint8(4)) << 16 &+ UInt32(payload.count)
    for offset in stride(from: payload.lowerBound, to: payload.upperBound, by: 4) { sum &+= frame.uint32(offset) }
    return sum
  }

  /// RTCM 10403's checksum: 24 bits, polynomial 1864CFB.
  static func crc24q(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> UInt32 {
    var crc: UInt32 = 0
    for byte in UnsafeBufferPointer(rebasing: bytes) {
      crc ^= UInt32(byte) << 16
      for _ in 0..<8 {
        crc <<= 1
        if crc & 0x100_0000 != 0 { crc ^= 0x186_4CFB }
      }
    }
    return crc & 0xFF_FFFF
  }
}
