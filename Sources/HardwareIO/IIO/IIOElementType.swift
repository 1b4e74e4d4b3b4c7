/// The layout of one element of a scan in memory, as stated in `scan_elements/…_type`. For example, `le:s24/32>>8` is a
/// signed 24-bit number in the upper three of four bytes, least significant byte first.
public struct IIOElementType: Equatable, Sendable {
  public let isBigEndian: Bool
  public let isSigned: Bool
  /// The number of significant bits.
  public let bitCount: Int
  /// The number of bits that the element occupies: 8, 16, 32 or 64. An element begins at a multiple of its own size.
  public let storageBitCount: Int
  /// The number of unused bits below the number.
  public let shift: Int

  public var storageByteCount: Int { storageBitCount / 8 }

  /// - Throws: if the text is not a valid type, or has an unsupported kind: repeated elements (`X`) or floating point
  ///   (`f`)
  public init(_ text: String) throws(HardwareError) {
    guard let type = IIOElementType(parsing: text) else {
      throw .unsupported("a scan with an element of the type '\(text)' cannot be read")
    }
    self = type
  }

  private init?(parsing text: String) {
    var rest = Array(text.utf8)[...]
    func take(_ word: String) -> Bool {
      guard rest.starts(with: word.utf8) else { return false }
      rest = rest.dropFirst(word.utf8.count)
      return true
    }
    func takeNumber() -> Int? {
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      // No bit count is above 64, so two digits suffice.
      guard (1...2).contains(digits.count) else { return nil }
      rest = rest.dropFirst(digits.count)
      return digits.reduce(0) { 10 * $0 + Int($1) - 0x30 }
    }
    let isBigEndian = take("be:")
    guard isBigEndian || take("le:") else { return nil }
    let isSigned = take("s")
    guard isSigned || take("u") else { return nil }
    guard let bitCount = takeNumber(), take("/"), let storageBitCount = takeNumber() else { return nil }
    var shift = 0
    if take(">>") {
      guard let number = takeNumber() else { return nil }
      shift = number
    }
    guard rest.isEmpty, [8, 16, 32, 64].contains(storageBitCount), bitCount > 0, bitCount + shift <= storageBitCount
    else { return nil }
    self.isBigEndian = isBigEndian
    self.isSigned = isSigned
    self.bitCount = bitCount
    self.storageBitCount = storageBitCount
    self.shift = shift
  }

  /// Decodes the number at an offset. An unsigned 64-bit number is returned with the same bits.
  func decode(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int64 {
    let word: UInt64
    switch storageBitCount {
    case 8: word = UInt64(bytes[offset])
    case 16:
      let stored = bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
      word = UInt64(isBigEndian ? UInt16(bigEndian: stored) : UInt16(littleEndian: stored))
    case 32:
      let stored = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
      word = UInt64(isBigEndian ? UInt32(bigEndian: stored) : UInt32(littleEndian: stored))
    default:
      let stored = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      word = isBigEndian ? UInt64(bigEndian: stored) : UInt64(littleEndian: stored)
    }
    // The first shift removes the bits above the number, and the second one the bits below it.
    let top = word << (64 - bitCount - shift)
    return isSigned ? Int64(bitPattern: top) >> (64 - bitCount) : Int64(bitPattern: top >> (64 - bitCount))
  }
}
