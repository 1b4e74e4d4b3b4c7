import CLinux
import Glibc

/// The end of a process that another program has started.
enum ProcessEnd {
  /// Blocks until a process has ended. Returns true at once if it no longer exists, and false after the limit of a
  /// test.
  static func wait(for pid: pid_t) -> Bool {
    let process = clinux_open_process(pid)
    guard process >= 0 else { return true }
    defer { close(process) }
    var event = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
    return poll(&event, 1, 180_000) == 1
  }
}
