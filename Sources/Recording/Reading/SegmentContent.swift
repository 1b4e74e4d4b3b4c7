import MCAP

/// The bytes of a segment, for clients. They form a complete file even while the segment is being written. The segment
/// stays open, so that it can be read to its end even if it is removed in the meantime.
public final class SegmentContent: Sendable {
  private let source: RepairedSource<MCAPFileSource>

  init(path: String) throws(MCAPError) {
    let file = try MCAPFileSource(ofFolder: path)
    source = RepairedSource(file, try MCAPRepair(of: file, isRecycled: false))
  }

  public var byteCount: UInt64 { source.byteCount }

  /// Reads bytes at an offset; empty after the end.
  public func bytes(at offset: UInt64, limit: Int) throws(MCAPError) -> [UInt8] {
    guard offset < byteCount else { return [] }
    var bytes = [UInt8](repeating: 0, count: Int(min(UInt64(limit), byteCount - offset)))
    try bytes.withUnsafeMutableBufferPointer { (buffer) throws(MCAPError) in
      try source.read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
    }
    return bytes
  }
}
