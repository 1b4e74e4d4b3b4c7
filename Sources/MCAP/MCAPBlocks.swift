/// Makes a writer align its pieces to the blocks of a disk. The file may be written over the data of an older file.
///
/// A piece that almost fills its last block is padded to the end of the block, so that the next piece does not write
/// that block again. Each piece is followed by a seal. A seal is a record of an application-defined kind, which every
/// reader skips. It separates complete data of this file from the remains of an older file, without relying on clocks.
public struct MCAPBlocks: Equatable, Sendable {
  /// The block size of the disk's file system.
  public private(set) var byteCount: Int
  /// A random number that distinguishes this file from others.
  public private(set) var identity: UInt64

  public init(byteCount: Int = 4096, identity: UInt64 = .random(in: .min ... .max)) {
    self.byteCount = max(1, byteCount)
    self.identity = identity
  }
}

extension MCAPBlocks {
  /// The seal that follows a piece, padded if little of the block is left.
  ///
  /// - Parameters:
  ///   - offset: the file offset at which the piece ends
  ///   - crc: the checksum of all preceding bytes
  func seal(at offset: UInt64, crc: UInt32) -> [UInt8] {
    let end = offset + UInt64(Seal.byteCount)
    let room = (UInt64(byteCount) - end % UInt64(byteCount)) % UInt64(byteCount)
    let padding = room <= UInt64(byteCount / 4) ? Int(room) : 0
    return Seal(identity: identity, offset: offset, crc: crc).bytes(padding: padding)
  }

  /// Whether a file that grows from `end` to `next` begins another block.
  func isBoundary(between end: UInt64, and next: UInt64) -> Bool {
    (end - 1) / UInt64(byteCount) != (next - 1) / UInt64(byteCount)
  }
}

/// A record written for `MCAPBlocks`. It confirms that the data since the previous seal is complete and belongs to
/// this file.
struct Seal: Equatable {
  /// The opcode of a seal, which is application-defined.
  static let opcode: UInt8 = 0x80
  /// The size of the record without the padding that fills the block.
  static let byteCount = Layout.prefixByteCount + contentByteCount
  private static let contentByteCount = mark.count + 20
  static let mark = Array("SHSEAL00".utf8)
  /// The maximum padding, a quarter of the largest block of any file system.
  private static let mostPadding = 1 << 16

  var identity: UInt64
  /// The file offset of the seal.
  var offset: UInt64
  /// The checksum of all bytes before the seal. Together with the checksum in the previous seal, each piece can be
  /// verified by itself.
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

  /// - Returns: `nil` for a record of another kind, or if its length is wrong
  init?(_ source: some MCAPSource, _ content: Range<UInt64>) throws(MCAPError) {
    let byteCount = content.upperBound - content.lowerBound
    let lengths = UInt64(Seal.contentByteCount)...UInt64(Seal.contentByteCount + Seal.mostPadding)
    guard lengths.contains(byteCount) else { return nil }
    let bytes = try source.bytes(at: content.lowerBound, count: Seal.contentByteCount)
    guard bytes.starts(with: Seal.mark) else { return nil }
    // If a bit in the length flipped, the data after the seal would count as padding, and could include all further
    // seals. Therefore the padding must be zero. It is read in growing pieces: there may be many bytes that only look
    // like a seal, and usually their first piece already shows that.
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
