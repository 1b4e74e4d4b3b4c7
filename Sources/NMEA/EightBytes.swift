/// Looks at eight characters of a sentence in one register: nearly all of them are ordinary, and then what takes several
/// operations a character takes as many for eight.
struct EightBytes {
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highs: UInt64 = 0x8080_8080_8080_8080

  private var exclusiveOr: UInt64 = 0
  private var union: UInt64 = 0
  /// A count in each byte: of the words seen that had a comma there.
  private var commas: UInt64 = 0

  /// Takes the leading characters, in memory's order, that stand above all those at which a sentence may end; returns
  /// how many these are.
  ///
  /// A sentence may end at a control character, `*`, `$` and `!`. What sentences are made of lies above them, blanks and
  /// a few others excepted, which are for the caller to look at.
  ///
  /// - Precondition: called at most 255 times
  @inline(__always)
  mutating func take(_ word: UInt64) -> Int {
    // A byte below the limit borrows, and shows it in its high bit. The first such byte is exact; later ones may be
    // wrong.
    let low = (word &- EightBytes.ones &* (UInt64(Byte.star) + 1)) & ~word & EightBytes.highs
    if low == 0 {
      add(word)
      return 8
    }
    let count = low.trailingZeroBitCount >> 3
    // Nothing is left of the bytes from the first low one on.
    add(word & ((1 &<< UInt64(count &* 8)) &- 1))
    return count
  }

  @inline(__always)
  private mutating func add(_ word: UInt64) {
    exclusiveOr ^= word
    union |= word
    // Exactly the high bits of the bytes that are commas.
    let difference = word ^ EightBytes.ones &* UInt64(Byte.comma)
    commas &+= ~((difference & ~EightBytes.highs) &+ ~EightBytes.highs | difference | ~EightBytes.highs) >> 7
  }

  var commaCount: Int {
    // Sums of two neighbours first: eight counts up to 255 do not fit into one byte.
    let pairs = (commas & 0x00FF_00FF_00FF_00FF) &+ (commas >> 8 & 0x00FF_00FF_00FF_00FF)
    return Int((pairs &* 0x0001_0001_0001_0001) >> 48)
  }

  /// 0x80 if one of them was not ASCII, else 0.
  var highBits: UInt8 { union & EightBytes.highs == 0 ? 0 : 0x80 }

  /// All of them exclusive-ored into one.
  var checksum: UInt8 {
    let half = exclusiveOr ^ exclusiveOr >> 32
    let quarter = half ^ half >> 16
    return UInt8(truncatingIfNeeded: quarter ^ quarter >> 8)
  }
}
