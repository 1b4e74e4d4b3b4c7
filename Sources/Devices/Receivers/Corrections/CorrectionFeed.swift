import HardwareIO

/// Writes corrections to a receiver as fast as its line carries them. The feed never waits. It keeps little more than
/// one message in the line's buffer, because requests to the receiver and newer corrections would have to wait for the
/// buffered ones.
struct CorrectionFeed {
  /// The number of unsent bytes up to which the next message is written.
  private static let mostUnsent = 64

  private let queue: CorrectionQueue
  /// The unwritten rest of a message.
  private var rest: ArraySlice<UInt8> = []

  init(_ queue: CorrectionQueue) { self.queue = queue }

  /// Writes the bytes that the line accepts now.
  ///
  /// - Returns: the time until the line accepts more; `nil` if nothing waits
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

  /// Writes the rest of a message that has been written in part. Otherwise the receiver would take the next request
  /// for that rest.
  mutating func finish(on port: any SerialPort) {
    // If the line accepts nothing for a second, the next request reports that.
    if !rest.isEmpty { try? port.write(Array(rest)) }
    rest = []
  }
}
