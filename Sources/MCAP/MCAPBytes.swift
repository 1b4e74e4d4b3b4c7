/// A file in memory, for writing and reading.
public struct MCAPBytes: MCAPSink, MCAPSource, Equatable, Sendable {
  public var bytes: [UInt8]

  public init(_ bytes: [UInt8] = []) { self.bytes = bytes }

  public var byteCount: UInt64 { UInt64(bytes.count) }

  public mutating func append(_ bytes: UnsafeRawBufferPointer) { self.bytes.append(contentsOf: bytes) }

  public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(MCAPError) {
    guard let end = offset.adding(UInt64(buffer.count)), end <= byteCount else { throw .cut(offset: offset) }
    buffer.copyBytes(from: bytes[Int(offset)..<Int(end)])
  }
}
