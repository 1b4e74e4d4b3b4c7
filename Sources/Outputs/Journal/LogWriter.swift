import CLinux
import CSystemd
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
  /// A signal that the thread raises each time it has written all lines. `flush` waits for it.
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

/// The lines that wait to be written, up to a maximum number and total size. If there is no room for another line, the
/// oldest lines are dropped and counted; faults are dropped last.
struct LogQueue {
  static let lineLimit = 1024
  static let byteLimit = 256 * 1024

  private var entries: [LogEntry] = []
  private var size = 0
  /// The number of dropped lines since the last call of `take`.
  private var lost = 0

  var isEmpty: Bool { entries.isEmpty }

  mutating func append(_ entry: LogEntry) {
    entries.append(entry)
    size += entry.size
    // The newest line stays, even if it is longer than the limit.
    while entries.count > 1, entries.count > LogQueue.lineLimit || size > LogQueue.byteLimit { drop() }
  }

  private mutating func drop() {
    let index = entries.dropLast().firstIndex { !$0.priority.isFault } ?? 0
    size -= entries[index].size
    entries.remove(at: index)
    lost += 1
  }

  /// Takes all waiting lines. If lines were lost, the first one reports their number. `nil` if no line waits.
  mutating func take() -> [LogEntry]? {
    guard !entries.isEmpty else { return nil }
    var taken = entries
    if lost > 0 {
      let text = "\(lost) \(lost == 1 ? "line is" : "lines are") missing here: the reader of the log was too slow"
      taken.insert(LogEntry(.warning, text), at: 0)
    }
    self = LogQueue()
    return taken
  }
}

/// The destination of log lines. Writing may block: only the log's own thread waits for it.
protocol LogDestination: Sendable {
  func write(_ entry: LogEntry)
}

/// The system's journal, which stores each line with its fields.
struct SystemJournal: LogDestination {
  func write(_ entry: LogEntry) {
    let texts =
      [
        "PRIORITY=\(entry.priority.rawValue)", "MESSAGE=\(Text.indented(entry.message))", "SYSLOG_IDENTIFIER=sensorhub",
      ] + entry.fields.map { "\($0.name)=\($0.value)" }
    let storage = texts.map { Array($0.utf8) }
    // The vectors point into `flat`, which outlives the call.
    let flat = Array(storage.joined())
    flat.withUnsafeBytes { bytes in
      var offset = 0
      let vectors = storage.map { text in
        defer { offset += text.count }
        return iovec(
          iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress?.advanced(by: offset)), iov_len: text.count)
      }
      _ = sd_journal_sendv(vectors, Int32(vectors.count))
    }
  }
}

/// A terminal, a pipe or a file, which gets readable lines.
struct LogLines: LogDestination {
  let descriptor: Int32

  func write(_ entry: LogEntry) {
    let mark =
      switch entry.priority {
      case .error: "error: "
      case .warning: "warning: "
      case .notice, .info, .debug: ""
      }
    var rest = Array("\(LogLines.timeOfDay(entry.at)) \(mark)\(Text.indented(entry.message))\n".utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        // Making the descriptor blocking would affect other users of the terminal, so this thread polls until it is
        // writable. The thread has no other work.
        var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&wait, 1, -1)
      } else if errno != EINTR {
        return
      }
    }
  }

  /// The local time of day, for a terminal.
  private static func timeOfDay(_ time: time_t) -> String {
    var time = time
    var parts = tm()
    localtime_r(&time, &parts)
    func two(_ value: Int32) -> String { (value < 10 ? "0" : "") + "\(value)" }
    return "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
  }
}
