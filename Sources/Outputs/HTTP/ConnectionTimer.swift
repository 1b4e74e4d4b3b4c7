import Guarding
import MonotonicTime
import NIOCore

/// Tells a connection of the web port the time, and performs its checks later, on the connection's event loop.
struct ConnectionTimer: Sendable {
  /// The present time.
  let now: @Sendable () -> NIODeadline
  /// Performs an action on an event loop at a time. The result cancels the action.
  let schedule: @Sendable (any EventLoop, NIODeadline, _ action: @escaping @Sendable () -> Void) -> Callback
}

extension ConnectionTimer {
  /// The time and the timers of the event loop, so that a connection needs no other thread.
  static let ofEventLoop = ConnectionTimer(
    now: { .now() },
    schedule: { loop, deadline, action in
      let task = loop.scheduleTask(deadline: deadline, action)
      return Callback { task.cancel() }
    })

  /// The time of another clock, for example one that a test advances.
  init(_ clock: any MonotonicTimeSource) {
    self.init(
      now: { .uptimeNanoseconds(UInt64(clock.now.nanoseconds)) },
      schedule: { loop, deadline, action in
        let instant = MonotonicInstant(nanoseconds: Int64(deadline.uptimeNanoseconds))
        let scheduled = clock.schedule(at: instant) { loop.execute(action) }
        return Callback { scheduled.cancel() }
      })
  }
}
