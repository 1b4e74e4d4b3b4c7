/// Vouches for what is between it and the seal before: a record that `MCAPBlocks` has put there.
struct Seal: Equatable {
  /// One of those that the format leaves to applications.
  static let opcode: UInt8 = 0x80
  /// Of the record without what fills the block.
  static let byteCount = Layout.prefixByteCount + contentByteCount
  private static let contentByteCount = mark.count + 20
  static let mark = Array("SHSEAL00".utf8)
  /// A quarter of the largest block of any file system.
  private static let mostPadding = 1 << 16

  var identity: UInt64
  /// Its own.
  var offset: UInt64
  /// Of all bytes before it: from what the seal before says of those before that, each piece can be checked alone.
  var crc: UInt32

  func bytes(padding: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Seal.byteCount + padding)
    let start = bytes.beginRecord(Seal.opcode)
    bytes += Seal.mark
    bytes.append(littleEndian: identity)
    bytes.append(littleEndian: offset)
    bytes.append(littleEndian: crc)
    bytes.append(contentsOf: repeatElement(0, count: padding))
    bytes.endRecord(start)
    return bytes
  }

  init(identity: UInt64, offset: UInt64, crc: UInt32) {
    self.identity = identity
    self.offset = offset
    self.crc = crc
  }

  /// - Returns: `nil` for a record of another kind, or one whose length cannot be right
  init?(_ source: some MCAPSource, _ content: Range<UInt64>) throws(MCAPError) {
    let byteCount = content.upperBound - content.lowerBound
    let lengths = UInt64(Seal.contentByteCount)...UInt64(Seal.contentByteCount + Seal.mostPadding)
    guard lengths.contains(byteCount) else { return nil }
    let bytes = try source.bytes(at: content.lowerBound, count: Seal.contentByteCount)
    guard bytes.starts(with: Seal.mark) else { return nil }
    // A length with a wrong bit would take what follows for padding, and with it perhaps all the file's other seals. What only looks
    // like a seal shows it in the first bytes: a file may have one in every few.
    var end = content.lowerBound + UInt64(Seal.contentByteCount)
    var count: UInt64 = 256
    while end < content.upperBound {
      count = min(count, content.upperBound - end)
      guard try source.bytes(at: end, count: Int(count)).allSatisfy({ $0 == 0 }) else { return nil }
      end += count
      count *= 16
    }
    var fields = RecordReader(
      bytes, Seal.mark.count..<bytes.count, name: "seal", offset: content.lowerBound - UInt64(Layout.prefixByteCount))
    identity = try fields.integer()
    offset = try fields.integer()
    crc = try fields.integer()
  }
}
