import Glibc
import HardwareIO

/// Hears from the kernel when one of some files is opened or closed, by whomever: who switches a line has to open its chip.
final class FileActivity: Sendable {
  /// For `poll`: readable while there is something to take.
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

  /// Takes all that has been heard.
  func take() {
    var events = [UInt8](repeating: 0, count: 4096)
    while read(fileDescriptor, &events, events.count) > 0 {}
  }
}
