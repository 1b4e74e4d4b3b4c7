import HardwareIO

/// Writes corrections to a receiver at the pace of its line. It never waits, and never has more than about one message
/// on its way, because requests to the receiver and newer corrections would have to wait for the rest.
struct CorrectionFeed {
  /// So little may still be on its way when the next message is begun, bytes.
  private static let mostUnsent = 64

  private let queue: CorrectionQueue
  /// Of the message that has been begun.
  private var rest: ArraySlice<UInt8> = []

  init(_ queue: CorrectionQueue) { self.queue = queue }

  /// Writes the bytes that the line takes now.
  ///
  /// - Returns: when it takes more; `nil` if nothing waits
  mutating func write(to port: any SerialPort, at speed: BaudRate) throws(HardwareError) -> Duration? {
    while true {
      if rest.isEmpty {
        if queue.isEmpty { return nil }
        let unsent = port.unsentCount
        if unsent > CorrectionFeed.mostUnsent { return speed.time(for: unsent - CorrectionFeed.mostUnsent) }
        guard let message = queue.take() else { return nil }
        rest = message[...]
      }
      rest = rest.dropFirst(try port.writeNow(rest))
      if !rest.isEmpty { return speed.time(for: max(port.unsentCount, CorrectionFeed.mostUnsent)) }
    }
  }

  /// Completes the message in progress: otherwise the next request would be taken for the rest of it.
  mutating func finish(on port: any SerialPort) {
    // The next request reports a line that takes nothing for a second.
    if !rest.isEmpty { try? port.write(Array(rest)) }
    rest = []
  }
}
