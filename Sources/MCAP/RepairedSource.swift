/// A view of a file as if it had been repaired. The file itself stays unchanged.
public struct RepairedSource<Base: MCAPSource>: MCAPSource {
  public let byteCount: UInt64
  private let base: Base
  private let keptByteCount: UInt64
  /// The bytes that replace parts of the base, or extend it.
  private let replacements: [(offset: UInt64, bytes: [UInt8])]

  public init(_ base: Base, _ repair: MCAPRepair) {
    self.init(base, keeping: repair.keptByteCount, leavingOut: repair.leftOut, appending: repair.appendedBytes)
  }

  init(_ base: Base, keeping count: UInt64, leavingOut parts: [Range<UInt64>], appending bytes: [UInt8]) {
    self.base = base
    keptByteCount = count
    byteCount = count + UInt64(bytes.count)
    replacements = parts.map { ($0.lowerBound, MCAPRepair.stepOver($0)) } + [(count, bytes)]
  }

  public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(MCAPError) {
    guard let end = offset.adding(UInt64(buffer.count)), end <= byteCount else { throw .cut(offset: offset) }
    if offset < keptByteCount {
      let kept = Int(min(end, keptByteCount) - offset)
      try base.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<kept]))
    }
    for (start, bytes) in replacements {
      let common = (start..<start + UInt64(bytes.count)).clamped(to: offset..<end)
      guard !common.isEmpty else { continue }
      let place = Int(common.lowerBound - offset)..<Int(common.upperBound - offset)
      UnsafeMutableRawBufferPointer(rebasing: buffer[place]).copyBytes(
        from: bytes[Int(common.lowerBound - start)..<Int(common.upperBound - start)])
    }
  }
}

extension RepairedSource: Sendable where Base: Sendable {}
