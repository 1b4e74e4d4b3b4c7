import Glibc
import HardwareIO

/// Detects through the kernel when any process opens or closes one of some files. A program that switches a line must
/// open its chip.
final class FileActivity: Sendable {
  /// The descriptor to `poll`: readable while there are events.
  let fileDescriptor: Int32

  init(of paths: [String]) throws(HardwareError) {
    fileDescriptor = inotify_init1(O_NONBLOCK | O_CLOEXEC)
    guard fileDescriptor >= 0 else { throw .system("starting to watch files", errno: errno) }
    for path in paths
    where inotify_add_watch(fileDescriptor, path, UInt32(IN_OPEN | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE)) < 0 {
      throw .system("watching \(path)", errno: errno)
    }
  }

  deinit { close(fileDescriptor) }

  /// Discards all pending events.
  func take() {
    var events = [UInt8](repeating: 0, count: 4096)
    while read(fileDescriptor, &events, events.count) > 0 {}
  }
}
