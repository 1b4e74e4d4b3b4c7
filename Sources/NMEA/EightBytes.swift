/// Examines eight characters of a sentence at a time, in one register. This is fast, because only few characters need
/// to be examined one by one.
struct EightBytes {
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highs: UInt64 = 0x8080_8080_8080_8080

  private var exclusiveOr: UInt64 = 0
  private var union: UInt64 = 0
  /// A count in each byte: the number of words of eight characters that had a comma at that place.
  private var commas: UInt64 = 0

  /// Examines the leading characters, in memory order, whose codes are greater than those of all characters at which a
  /// sentence may end.
  ///
  /// A sentence may end at a control character, `*`, `$` and `!`. Nearly all characters of sentences have greater
  /// codes. The caller handles blanks and all other characters with lower codes.
  ///
  /// - Precondition: called at most 255 times
  /// - Returns: the number of characters taken
  @inline(__always)
  mutating func take(_ word: UInt64) -> Int {
    // A byte below the limit borrows, which shows in its high bit. The result is exact for the first such byte; it may
    // be wrong for later bytes.
    let low = (word &- EightBytes.ones &* (UInt64(Byte.star) + 1)) & ~word & EightBytes.highs
    if low == 0 {
      add(word)
      return 8
    }
    let count = low.trailingZeroBitCount >> 3
    // This clears the first low byte and all bytes after it.
    add(word & ((1 &<< UInt64(count &* 8)) &- 1))
    return count
  }

  @inline(__always)
  private mutating func add(_ word: UInt64) {
    exclusiveOr ^= word
    union |= word
    // Before the shift, the expression has the high bit of each byte that is a comma, and no other bit.
    let difference = word ^ EightBytes.ones &* UInt64(Byte.comma)
    commas &+= ~((difference & ~EightBytes.highs) &+ ~EightBytes.highs | difference | ~EightBytes.highs) >> 7
  }

  var commaCount: Int {
    // Neighbours are added first, because the sum of eight counts up to 255 does not fit into one byte.
    let pairs = (commas & 0x00FF_00FF_00FF_00FF) &+ (commas >> 8 & 0x00FF_00FF_00FF_00FF)
    return Int((pairs &* 0x0001_0001_0001_0001) >> 48)
  }

  /// 0x80 if one of the characters was not ASCII, otherwise 0.
  var highBits: UInt8 { union & EightBytes.highs == 0 ? 0 : 0x80 }

  /// The exclusive or of all characters.
  var checksum: UInt8 {
    let half = exclusiveOr ^ exclusiveOr >> 32
    let quarter = half ^ half >> 16
    return UInt8(truncatingIfNeeded: quarter ^ quarter >> 8)
  }
}
