/// Has a file written for a disk that takes whole blocks, perhaps over an older file.
///
/// A piece that fills its last block nearly is made to fill it, so that the piece after it does not write that block again. Behind
/// each piece is a seal, a record of a kind that the format leaves to applications and that every reader skips: it tells what is of
/// this file and whole from what an older one has left there, whatever the clock said then.
public struct MCAPBlocks: Equatable, Sendable {
  /// Of the disk's file system.
  public private(set) var byteCount: Int
  /// Tells this file from others; random.
  public private(set) var identity: UInt64

  public init(byteCount: Int = 4096, identity: UInt64 = .random(in: .min ... .max)) {
    self.byteCount = max(1, byteCount)
    self.identity = identity
  }
}

extension MCAPBlocks {
  /// The seal behind a piece, and what fills the block where little of that is left.
  ///
  /// - Parameters:
  ///   - offset: where in the file the piece ends
  ///   - crc: the checksum of all that is before
  func seal(at offset: UInt64, crc: UInt32) -> [UInt8] {
    let end = offset + UInt64(Seal.byteCount)
    let room = (UInt64(byteCount) - end % UInt64(byteCount)) % UInt64(byteCount)
    let padding = room <= UInt64(byteCount / 4) ? Int(room) : 0
    return Seal(identity: identity, offset: offset, crc: crc).bytes(padding: padding)
  }

  /// Whether something more would begin another block.
  func isBoundary(between end: UInt64, and next: UInt64) -> Bool {
    (end - 1) / UInt64(byteCount) != (next - 1) / UInt64(byteCount)
  }
}
