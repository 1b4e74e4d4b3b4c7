import CLinux
import Glibc
import Guarding
import MonotonicTime
import Recording
import SystemPackage

/// Shows the progress of reading a recording on standard error. It is shown only on a terminal, and only if reading
/// takes longer than two seconds.
final class RecordingProgress: ReadingProgress {
  private static let firstAfter = Duration.seconds(2)
  private static let interval = Duration.milliseconds(500)

  private struct State {
    var line = ProgressLine()
    var count: UInt64 = 0
    var next: MonotonicInstant
  }

  private let total: UInt64
  private let isShown: Bool
  private let clock = MonotonicClock()
  private let state: Guarded<State>

  /// - Parameters:
  ///   - total: the number of messages
  ///   - isShown: `false` if the messages themselves are printed
  init(total: UInt64, isShown: Bool = true) {
    self.total = total
    self.isShown = isShown
    state = Guarded(State(next: clock.now + RecordingProgress.firstAfter))
  }

  func advance() {
    state.withLock { state in
      state.count += 1
      // Read the clock only at every 1024th message, because reading it takes longer than reading a message.
      guard isShown, state.line.isShown, state.count & 1023 == 0, clock.now >= state.next else { return }
      state.next = clock.now + RecordingProgress.interval
      state.line.show("\(min(100, state.count * 100 / max(1, total))) % of \(total) messages")
    }
  }

  /// Removes the line. Call this before anything else is printed.
  func finish() { state.withLock { $0.line.finish() } }

  func finish(vanishedFileCount: Int) {
    finish()
    guard vanishedFileCount > 0 else { return }
    let files = vanishedFileCount == 1 ? "1 recording that was" : "\(vanishedFileCount) recordings that were"
    Terminal.standardError(
      "left out: \(files) deleted before they were read, because the hub deletes its oldest recordings")
  }
}

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
