import CLinux
import Glibc
import Guarding
import MonotonicTime

/// Writes the log on its own thread, which sleeps while there is nothing to write. Callers never wait for a slow
/// destination, such as a stopped terminal, a full pipe, or a stuck journal.
final class LogWriter: Sendable {
  private struct State {
    var queue = LogQueue()
    var isRunning = false
    var isWriting = false
  }

  private let destination: any LogDestination
  private let state = Guarded(State())
  private let wake = WakeSignal()
  /// Raised each time all lines have been written.
  private let rest = WakeSignal()

  init(to destination: any LogDestination) { self.destination = destination }

  func write(_ entry: LogEntry) {
    let mustStart = state.withLock { state in
      state.queue.append(entry)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    // If no thread can be started now, this line waits for the next attempt.
    if mustStart, DetachedThread.start("log", { self.run() }) != 0 { state.withLock { $0.isRunning = false } }
    wake.raise()
  }

  /// Waits until everything has been written, but no longer than `limit`.
  ///
  /// - Returns: whether everything has been written
  func flush(within limit: Duration) -> Bool {
    let clock = MonotonicClock()
    let deadline = clock.now + limit
    while true {
      rest.clear()
      if state.withLock({ $0.queue.isEmpty && !$0.isWriting }) { return true }
      let left = deadline - clock.now
      guard left > .zero else { return false }
      var wait = pollfd(fd: rest.fileDescriptor, events: Int16(POLLIN), revents: 0)
      poll(&wait, 1, Int32(left.inSeconds * 1000) + 1)
    }
  }

  private func run() {
    while true {
      wake.wait()
      while let entries = take() {
        for entry in entries { destination.write(entry) }
      }
      rest.raise()
    }
  }

  private func take() -> [LogEntry]? {
    state.withLock { state in
      let entries = state.queue.take()
      state.isWriting = entries != nil
      return entries
    }
  }
}
