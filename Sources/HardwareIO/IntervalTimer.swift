import CLinux
import Glibc
import MonotonicTime

/// A periodic timer that `poll` can wait for.
public final class IntervalTimer: Sendable {
  /// Readable once an interval has passed.
  public let fileDescriptor: Int32
  let interval: Duration
  /// A timer that is later than this does not fire any more.
  static let patience = Duration.seconds(1)

  public init(every interval: Duration, from start: MonotonicInstant) throws(HardwareError) {
    self.interval = interval
    fileDescriptor = clinux_timerfd()
    guard fileDescriptor >= 0 else { throw .system("creating a timer", errno: errno) }
    _ = clinux_timerfd_arm(fileDescriptor, (start + interval).nanoseconds, interval.inNanoseconds)
  }

  deinit { close(fileDescriptor) }

  /// How many intervals have passed since the last call.
  public func takeExpirations() -> Int {
    var expirations: UInt64 = 0
    return read(fileDescriptor, &expirations, 8) == 8 ? Int(clamping: expirations) : 0
  }
}
