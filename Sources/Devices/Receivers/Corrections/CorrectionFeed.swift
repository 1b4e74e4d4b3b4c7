import HardwareIO

/// Writes corrections to a receiver as its line carries them. Never waits, and never has more than about one message on its way:
/// what is said to the receiver meanwhile, and what is newer, would have to wait behind it.
struct CorrectionFeed {
  /// So little may still be on its way when the next message is begun, bytes.
  private static let mostUnsent = 64

  private let queue: CorrectionQueue
  /// Of the message that has been begun.
  private var rest: ArraySlice<UInt8> = []

  init(_ queue: CorrectionQueue) { self.queue = queue }

  /// Writes what the line takes now.
  ///
  /// - Returns: when it takes more; `nil` where nothing waits
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

  /// Ends the message that has been begun: what is said to the receiver next would be taken for the rest of it.
  mutating func finish(on port: any SerialPort) {
    // A line that takes nothing for a second is found out by what is said next.
    if !rest.isEmpty { try? port.write(Array(rest)) }
    rest = []
  }
}
