import CLinux
import Glibc
import SystemPackage

/// A line on standard error that is drawn over itself, where somebody sits before it. Nobody waits for a terminal that has been
/// stopped.
struct ProgressLine {
  /// Whether there is anybody.
  let isShown = isatty(STDERR_FILENO) == 1
  private var hasShown = false

  mutating func show(_ text: String) {
    guard isShown else { return }
    hasShown = true
    ProgressLine.write("\r\(text)\u{1b}[K")
  }

  /// Takes the line away, before anything else is printed.
  mutating func finish() {
    if hasShown { ProgressLine.write("\r\u{1b}[K") }
    hasShown = false
  }

  private static func write(_ text: String) {
    var wait = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    if poll(&wait, 1, 0) > 0 { _ = try? FileDescriptor.standardError.writeAll(text.utf8) }
  }
}
