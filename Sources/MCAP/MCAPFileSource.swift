import Glibc

/// A file on a disk, to read at any place. It may have any size, and several threads may read it.
public final class MCAPFileSource: MCAPSource, Sendable {
  /// As of the opening.
  public let byteCount: UInt64
  let path: String
  let descriptor: Int32

  public convenience init(path: String) throws(MCAPError) { try self.init(path: path, flags: O_RDONLY) }

  /// A file that somebody else may have put into a folder: a link in its place is not followed.
  public convenience init(ofFolder path: String) throws(MCAPError) {
    try self.init(path: path, flags: O_RDONLY | O_NOFOLLOW)
  }

  convenience init(path: String, flags: Int32) throws(MCAPError) {
    // A pipe that nobody writes to would be waited for.
    let descriptor = open(path, flags | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .system("opening \(path)", errno: errno) }
    try self.init(path: path, descriptor: descriptor)
  }

  /// Takes over the descriptor.
  init(path: String, descriptor: Int32) throws(MCAPError) {
    // Who writes a recording over an older one leaves alone what somebody reads.
    _ = flock(descriptor, LOCK_SH | LOCK_NB)
    let end = lseek(descriptor, 0, SEEK_END)
    guard end >= 0 else {
      // A pipe, say. Closing may change the number.
      let number = errno
      close(descriptor)
      throw .system("\(path) is read at any place, which it does not allow", errno: number)
    }
    // From here on the end of this closes it: before, it would be closed twice, and the number be another's by then.
    self.path = path
    self.descriptor = descriptor
    byteCount = UInt64(end)
  }

  deinit {
    // Explicitly: a program that is just being started has a copy of the descriptor until it runs, and with it the lock.
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
      // Somebody has cut it since it was opened.
      guard count > 0 else { throw .cut(offset: offset) }
      done += count
    }
  }
}
