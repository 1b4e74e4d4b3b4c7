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
