import MCAP

/// A segment as others get it: whole, also while it is being written. It stays open, so that it can be read to its end even if it
/// is removed meanwhile.
public final class SegmentContent: Sendable {
  private let source: MCAPFileSource
  private let keptByteCount: UInt64
  /// What makes it whole.
  private let end: [UInt8]

  init(path: String) throws(MCAPError) {
    source = try MCAPFileSource(path: path)
    let repair = try MCAPRepair(of: source, isRecycled: false)
    keptByteCount = repair.keptByteCount
    end = repair.appendedBytes
  }

  public var byteCount: UInt64 { keptByteCount + UInt64(end.count) }

  /// Reads some bytes; none behind the end.
  public func bytes(at offset: UInt64, limit: Int) throws(MCAPError) -> [UInt8] {
    guard offset < keptByteCount else {
      let start = Int(clamping: offset - keptByteCount)
      return Array(end.dropFirst(start).prefix(limit))
    }
    var bytes = [UInt8](repeating: 0, count: Int(min(UInt64(limit), keptByteCount - offset)))
    try bytes.withUnsafeMutableBufferPointer { (buffer) throws(MCAPError) in
      try source.read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
    }
    return bytes
  }
}
