import CLinux
import MonotonicTime

/// A clock that is slower than the machine's, so that threads that run late on a busy machine are less late by this
/// clock.
public struct SlowClock: MonotonicTimeSource {
  private let began = MonotonicClock().now
  private let systemAtBegin = clinux_realtime_ns()
  private let slowness: Int64

  public init(timesSlower slowness: Int64) { self.slowness = slowness }

  public var now: MonotonicInstant {
    MonotonicInstant(nanoseconds: began.nanoseconds + (MonotonicClock().now.nanoseconds - began.nanoseconds) / slowness)
  }

  public var minimumResolution: Duration { .nanoseconds(1) }

  /// The system clock in nanoseconds since 1970, at the same pace.
  public var systemTime: @Sendable () -> Int64 {
    { [self] in systemAtBegin + now.nanoseconds - began.nanoseconds }
  }

  public func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
    let (wait, isFar) = (deadline.nanoseconds - began.nanoseconds).multipliedReportingOverflow(by: slowness)
    // The time is rounded up, so that the action is never early.
    return MonotonicClock().schedule(at: began + .nanoseconds(isFar ? .max : wait + slowness), action)
  }
}
