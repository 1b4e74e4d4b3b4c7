import CLinux
import CSystemd
import Glibc

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
