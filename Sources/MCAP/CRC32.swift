/// The CRC-32 of zip and Ethernet (reflected polynomial 0xEDB88320), computed eight bytes at a time.
///
/// Table n holds the effect of a byte on the checksum after n more bytes (Kounavis and Berry 2005, "slicing by 8").
/// This is four times as fast as one byte at a time, measured on x86-64.
struct CRC32: Sendable {
  private var state = UInt32.max

  init() {}

  /// Continues from the checksum of the preceding bytes.
  init(goingOnFrom value: UInt32) { state = ~value }

  /// The checksum of all bytes up to now.
  var value: UInt32 { ~state }

  mutating func take(_ bytes: UnsafeRawBufferPointer) {
    var state = state
    CRC32.tables.withUnsafeBufferPointer { tables in
      var index = 0
      while bytes.count - index >= 8 {
        let low = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self)) ^ state
        let high = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index + 4, as: UInt32.self))
        state = tables[0x700 | Int(low & 0xFF)] ^ tables[0x600 | Int(low >> 8 & 0xFF)]
        state ^= tables[0x500 | Int(low >> 16 & 0xFF)] ^ tables[0x400 | Int(low >> 24)]
        state ^= tables[0x300 | Int(high & 0xFF)] ^ tables[0x200 | Int(high >> 8 & 0xFF)]
        state ^= tables[0x100 | Int(high >> 16 & 0xFF)] ^ tables[Int(high >> 24)]
        index += 8
      }
      while index < bytes.count {
        state = tables[Int((state ^ UInt32(bytes[index])) & 0xFF)] ^ state >> 8
        index += 1
      }
    }
    self.state = state
  }

  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var crc = CRC32()
    crc.take(bytes)
    return crc.value
  }

  static func of(_ bytes: [UInt8], _ range: Range<Int>) -> UInt32 {
    bytes.withUnsafeBytes { CRC32.of(UnsafeRawBufferPointer(rebasing: $0[range])) }
  }

  /// Eight tables of 256 entries, concatenated.
  private static let tables: [UInt32] = {
    var tables = [UInt32](repeating: 0, count: 8 * 256)
    for byte in 0..<256 {
      var value = UInt32(byte)
      for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
      tables[byte] = value
    }
    for index in 256..<tables.count {
      let before = tables[index - 256]
      tables[index] = tables[Int(before & 0xFF)] ^ before >> 8
    }
    return tables
  }()
}
