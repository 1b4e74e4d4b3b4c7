import CLinux
import MonotonicTime

/// A clock that runs at the pace of the machine's clock while the machine keeps up, and more slowly while it does not.
///
/// The clock advances in steps of a limited length, each in a turn of the timer thread. In 800 ms of this clock, that
/// thread has at least forty turns. A dialogue of two threads needs only a few turns, so it ends in time even on a
/// machine that is many times slower.
public final class SteppedClock: MonotonicTimeSource {
  /// The pause between two steps, on a machine that keeps up.
  private let tick: Duration
  private let longestStep: Duration

  private let clock: ManualClock
  private let began: MonotonicInstant
  private let systemAtBegin: Int64

  /// - Parameter tick: the time between two steps; a coarse clock gives the same instant to many events
  public init(tick: Duration = .milliseconds(5)) {
    self.tick = tick
    longestStep = max(tick, .milliseconds(20))
    began = MonotonicClock().now
    systemAtBegin = clinux_realtime_ns()
    clock = ManualClock(now: began)
    scheduleStep()
  }

  private func scheduleStep() {
    let last = MonotonicClock().now
    // The steps end with the clock. The timer thread holds the action until then.
    _ = MonotonicClock().schedule(at: last + tick) { [weak self] in self?.step(since: last) }
  }

  private func step(since last: MonotonicInstant) {
    let passed = MonotonicClock().now - last
    // Performs the actions that become due.
    clock.run(until: clock.now + min(passed, longestStep))
    scheduleStep()
  }

  public var now: MonotonicInstant { clock.now }

  public var minimumResolution: Duration { clock.minimumResolution }

  /// The system's clock, nanoseconds since 1970, at the same pace.
  public var systemTime: @Sendable () -> Int64 {
    { [systemAtBegin, began, clock] in systemAtBegin + clock.now.nanoseconds - began.nanoseconds }
  }

  public func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
    clock.schedule(at: deadline, action)
  }
}
