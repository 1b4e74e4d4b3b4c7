import Glibc

/// The input of a reader: a file, or bytes in memory.
public protocol MCAPSource {
  var byteCount: UInt64 { get }

  /// Fills the buffer with the bytes that begin at an offset.
  ///
  /// - Throws: if the source has fewer bytes
  func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(MCAPError)
}

extension MCAPSource {
  /// The memory limit for reading this source, in bytes, at most `wanted`. It is 200 times the size of the source, plus
  /// 16 MiB, so that a small file from an untrusted sender cannot use hundreds of megabytes. Real files need less:
  /// measurements are usually compressed to a twentieth at best, and those of a board that stands still all day to a
  /// hundredth.
  func memoryLimit(_ wanted: Int) -> Int {
    let least: UInt64 = 16 << 20
    let (product, isTooMuch) = byteCount.multipliedReportingOverflow(by: 200)
    let sensible = isTooMuch ? .max : product.adding(least) ?? .max
    return max(0, min(wanted, Int(clamping: sensible)))
  }

  /// Returns bytes at an offset. The length is checked against the size of the source first, so a wrong length in the
  /// file does not allocate memory.
  func bytes(at offset: UInt64, count: Int) throws(MCAPError) -> [UInt8] {
    guard let end = offset.adding(UInt64(count)), end <= byteCount else { throw .cut(offset: offset) }
    var bytes = [UInt8](repeating: 0, count: count)
    try bytes.withUnsafeMutableBufferPointer { (buffer) throws(MCAPError) in
      try read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
    }
    return bytes
  }

  /// The checksum of a range.
  func crc(_ range: Range<UInt64>) throws(MCAPError) -> UInt32 {
    var crc = CRC32()
    try take(range, into: &crc)
    return crc.value
  }

  func take(_ range: Range<UInt64>, into crc: inout CRC32) throws(MCAPError) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let bytes = try bytes(at: offset, count: Int(min(1 << 16, range.upperBound - offset)))
      bytes.withUnsafeBytes { crc.take($0) }
      offset += UInt64(bytes.count)
    }
  }

  /// The offset of the first occurrence of a pattern at or after `start`.
  func offset(of pattern: [UInt8], from start: UInt64) throws(MCAPError) -> UInt64? {
    var offset = start
    while offset < byteCount, byteCount - offset >= UInt64(pattern.count) {
      let bytes = try bytes(at: offset, count: Int(min(1 << 16, byteCount - offset)))
      if let index = bytes.withUnsafeBytes({ $0.firstIndex(of: pattern) }) { return offset + UInt64(index) }
      // The pattern may begin in this block and end in the next one.
      offset += UInt64(bytes.count - pattern.count + 1)
    }
    return nil
  }

  /// The opcode of the record at an offset, and the position of its content, which is within the file.
  func recordPrefix(at offset: UInt64) throws(MCAPError) -> (opcode: UInt8, content: Range<UInt64>) {
    let prefix = try bytes(at: offset, count: Layout.prefixByteCount)
    var fields = RecordReader(prefix, 0..<prefix.count, name: "record", offset: offset)
    let opcode = try fields.integer(UInt8.self)
    let length = try fields.integer(UInt64.self)
    let start = offset + UInt64(Layout.prefixByteCount)
    guard let end = start.adding(length), end <= byteCount else { throw .cut(offset: offset) }
    return (opcode, start..<end)
  }

  /// The content of the record at an offset.
  ///
  /// - Parameter limit: the size in bytes above which the record is an error
  func record(
    _ opcode: UInt8, _ name: String, at offset: UInt64, limit: Int
  ) throws(MCAPError) -> [UInt8] {
    let record = try recordPrefix(at: offset)
    guard record.opcode == opcode else { throw .malformed(name, offset: offset) }
    return try content(record.content, name, limit: limit)
  }

  func content(_ range: Range<UInt64>, _ name: String, limit: Int) throws(MCAPError) -> [UInt8] {
    let byteCount = range.upperBound - range.lowerBound
    guard let count = Int(exactly: byteCount), count <= limit else {
      throw .tooLarge(name, byteCount: byteCount, limit: UInt64(limit))
    }
    return try bytes(at: range.lowerBound, count: count)
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func firstIndex(of pattern: [UInt8]) -> Int? {
    guard let base = baseAddress, let first = pattern.first else { return nil }
    var index = 0
    while count - index >= pattern.count,
      let found = memchr(base + index, Int32(first), count - index - pattern.count + 1)
    {
      if memcmp(found, pattern, pattern.count) == 0 { return UnsafeRawPointer(found) - base }
      index = UnsafeRawPointer(found) - base + 1
    }
    return nil
  }
}

extension Range<UInt64> {
  var byteCount: UInt64 { upperBound - lowerBound }
}

extension [Range<UInt64>] {
  /// The total size of the ranges.
  var byteCount: UInt64 { reduce(0) { $0 + $1.byteCount } }
}

extension UInt64 {
  /// The sum, or `nil` on overflow.
  func adding(_ other: UInt64) -> UInt64? {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? nil : sum
  }
}

/// A file on disk, of any size, that can be read at any offset and from several threads.
public final class MCAPFileSource: MCAPSource, Sendable {
  /// The size of the file when it was opened.
  public let byteCount: UInt64
  let path: String
  let descriptor: Int32

  public convenience init(path: String) throws(MCAPError) { try self.init(path: path, flags: O_RDONLY) }

  /// Opens a file in a folder to which other users may write. A symbolic link in its place is not followed.
  public convenience init(ofFolder path: String) throws(MCAPError) {
    try self.init(path: path, flags: O_RDONLY | O_NOFOLLOW)
  }

  convenience init(path: String, flags: Int32) throws(MCAPError) {
    // Without O_NONBLOCK, opening a pipe would wait until a program writes to it.
    let descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system("opening \(path)", errno: errno) }
    try self.init(path: path, descriptor: descriptor)
  }

  /// Takes ownership of the descriptor.
  init(path: String, descriptor: Int32) throws(MCAPError) {
    // The lock tells a program that overwrites old recordings that this file is in use.
    _ = flock(descriptor, LOCK_SH | LOCK_NB)
    let end = lseek(descriptor, 0, SEEK_END)
    guard end >= 0 else {
      // The file is not seekable, for example because it is a pipe. `close` may change `errno`, so save its value
      // first.
      let number = errno
      close(descriptor)
      throw .system("\(path) is not seekable (a pipe?), give a regular file", errno: number)
    }
    // The properties are set only after the last error: `deinit` closes the descriptor, and a second `close` could
    // hit another file.
    self.path = path
    self.descriptor = descriptor
    byteCount = UInt64(end)
  }

  deinit {
    // Release the lock explicitly: a child process that has not started its program yet has a copy of the descriptor,
    // which would keep the lock.
    _ = flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(MCAPError) {
    guard let end = offset.adding(UInt64(buffer.count)), end <= byteCount else { throw .cut(offset: offset) }
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .system("reading \(path)", errno: errno) }
      // Another program has truncated the file since it was opened.
      guard count > 0 else { throw .cut(offset: offset) }
      done += count
    }
  }
}

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
