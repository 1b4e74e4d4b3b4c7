import Glibc

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
