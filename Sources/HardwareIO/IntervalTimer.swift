import CLinux
import Glibc
import MonotonicTime

/// A periodic timer that `poll` can wait for.
public final class IntervalTimer: Sendable {
  /// The file descriptor for `poll`, readable once an interval has passed.
  public let fileDescriptor: Int32
  let interval: Duration
  /// How late an expiration may be. After that the timer counts as stopped.
  static let patience = Duration.seconds(1)

  public init(every interval: Duration, from start: MonotonicInstant) throws(HardwareError) {
    self.interval = interval
    fileDescriptor = clinux_timerfd()
    guard fileDescriptor >= 0 else { throw .system("creating a timer", errno: errno) }
    _ = clinux_timerfd_arm(fileDescriptor, (start + interval).nanoseconds, interval.inNanoseconds)
  }

  deinit { close(fileDescriptor) }

  /// Returns the number of intervals that have passed since the last call.
  public func takeExpirations() -> Int {
    var expirations: UInt64 = 0
    return read(fileDescriptor, &expirations, 8) == 8 ? Int(clamping: expirations) : 0
  }
}
