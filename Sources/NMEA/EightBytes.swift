/// Eight characters of a sentence looked at in one register: nearly all of them are ordinary, and then three operations a
/// character become three for eight.
enum EightBytes {
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highs: UInt64 = 0x8080_8080_8080_8080

  /// Whether none of them is a control character or one of `*`, `$` and `!`, at which a sentence may end.
  @inline(__always)
  static func areOrdinary(_ word: UInt64) -> Bool {
    let control = (word &- ones &* 0x20) & ~word
    return
      (control | zeros(word ^ ones &* UInt64(Byte.star)) | zeros(word ^ ones &* UInt64(Byte.dollar))
      | zeros(word ^ ones &* UInt64(Byte.exclamation))) & highs == 0
  }

  /// Has a high bit set if any byte is zero; which one is not told exactly.
  @inline(__always)
  private static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }

  @inline(__always)
  static func commaCount(_ word: UInt64) -> Int {
    let difference = word ^ ones &* UInt64(Byte.comma)
    // Exactly the high bits of the bytes that are zero, each then counted as one by the multiplication.
    let commas = ~((difference & ~highs) &+ ~highs | difference | ~highs)
    return Int(((commas >> 7) &* ones) >> 56)
  }

  /// Not zero if one of them is not ASCII.
  @inline(__always)
  static func highBits(_ word: UInt64) -> UInt8 { word & highs == 0 ? 0 : 0x80 }

  /// All eight exclusive-ored into one.
  @inline(__always)
  static func folded(_ word: UInt64) -> UInt8 {
    let half = word ^ word >> 32
    let quarter = half ^ half >> 16
    return UInt8(truncatingIfNeeded: quarter ^ quarter >> 8)
  }
}
