import Glibc

/// The destination of a writer's bytes: a file, a ring of segments, a socket or memory.
public protocol MCAPSink: ~Copyable {
  /// Appends bytes: the start of the file, a whole chunk with its indexes, an attachment, a metadata record, or the end
  /// of the file. The sink decides when to flush them to the disk.
  ///
  /// - Throws: if not all bytes could be appended; the sink must then keep none of them. The writer appends a chunk
  ///   again in its next call
  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError)
}

/// A file on disk that is written from its start.
public struct MCAPFileSink: MCAPSink, ~Copyable {
  public let path: String
  private let descriptor: Int32
  private var end: UInt64 = 0

  /// Creates the file, or truncates an existing one.
  public init(path: String) throws(MCAPError) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw .system("creating \(path)", errno: errno) }
    self.path = path
  }

  deinit { close(descriptor) }

  public mutating func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError) {
    // The end moves only after a complete write, so the next attempt overwrites the bytes of a failed write.
    try writeAll(bytes, to: descriptor, at: end, path)
    end += UInt64(bytes.count)
  }

  /// Blocks until all bytes are on the disk.
  public func synchronize() throws(MCAPError) {
    guard fdatasync(descriptor) == 0 else { throw .system("writing \(path)", errno: errno) }
  }
}

/// Writes bytes at an offset of a file.
package func writeAll(
  _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: UInt64, _ path: String
) throws(MCAPError) {
  var done = 0
  while done < bytes.count {
    let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
    let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { throw .system("writing \(path)", errno: count < 0 ? errno : EIO) }
    done += count
  }
}
