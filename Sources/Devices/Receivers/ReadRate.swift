import MonotonicTime

/// Limits the rate at which a receiver on the network is read. A sender on the network can send as much as the network
/// carries, but the baud rate limits a serial line.
struct ReadRate {
  /// The limit, which is above the rate of the fastest line (921,600 baud).
  static let mostBytesPerSecond = 128 << 10
  /// The minimum number of bytes for which a read counts. A gpsd source may have filtered out most of what it
  /// received.
  static let leastBytesPerRead = 64

  private var second: (beganAt: MonotonicInstant, byteCount: Int)?

  /// Counts a read.
  ///
  /// - Returns: the time to wait before the next read; `nil` if it may follow at once
  mutating func pause(after count: Int, at now: MonotonicInstant) -> Duration? {
    var present = second ?? (now, 0)
    if now - present.beganAt >= .seconds(1) { present = (now, 0) }
    present.byteCount += max(count, ReadRate.leastBytesPerRead)
    second = present
    return present.byteCount < ReadRate.mostBytesPerSecond ? nil : .seconds(1) - (now - present.beganAt)
  }
}
