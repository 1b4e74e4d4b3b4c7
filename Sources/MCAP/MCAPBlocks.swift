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
