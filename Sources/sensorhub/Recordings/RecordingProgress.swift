import MonotonicTime

/// Says on standard error how far the reading of a recording has come, where somebody sits before it and has to wait.
struct RecordingProgress {
  private static let firstAfter = Duration.seconds(2)
  private static let interval = Duration.milliseconds(500)

  private let total: UInt64
  private var line = ProgressLine()
  private let clock = MonotonicClock()
  private var count: UInt64 = 0
  private var next: MonotonicInstant

  /// - Parameter total: messages that there are
  init(total: UInt64) {
    self.total = total
    next = clock.now + RecordingProgress.firstAfter
  }

  /// One more message has been read.
  mutating func advance() {
    count += 1
    // Asking the clock costs more than a message does.
    guard line.isShown, count & 1023 == 0, clock.now >= next else { return }
    next = clock.now + RecordingProgress.interval
    line.show("\(min(100, count * 100 / max(1, total))) % of \(total) messages")
  }

  /// Takes the line away, before anything else is printed.
  mutating func finish() { line.finish() }
}
