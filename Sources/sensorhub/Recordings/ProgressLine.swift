import CLinux
import Glibc
import SystemPackage

/// A line on standard error that is redrawn in place, if standard error is a terminal. Drawing never waits for a
/// stopped terminal.
struct ProgressLine {
  /// Whether standard error is a terminal.
  let isShown = isatty(STDERR_FILENO) == 1
  private var hasShown = false

  mutating func show(_ text: String) {
    guard isShown else { return }
    hasShown = true
    ProgressLine.write("\r\(text)\u{1b}[K")
  }

  /// Removes the line. Call this before anything else is printed.
  mutating func finish() {
    if hasShown { ProgressLine.write("\r\u{1b}[K") }
    hasShown = false
  }

  private static func write(_ text: String) {
    var wait = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    if poll(&wait, 1, 0) > 0 { _ = try? FileDescriptor.standardError.writeAll(text.utf8) }
  }
}
