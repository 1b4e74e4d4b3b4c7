import Hub
import MonotonicTime
import Outputs
import ServiceLifecycle

/// Tells systemd that the process is alive, as often as the unit asks for, unless a reader hangs that nothing frees: then systemd starts
/// the process again, and has `sensorhub safe` drive the lines low in between.
struct Watchdog: Service {
  let interval: Duration
  let supervisor: Supervisor
  /// Whose accounts are closed with it, as the process is awake then.
  let books: PowerBooksKeeper?

  func run() async throws {
    let clock = MonotonicClock()
    // The cancellation means to end; an error would make the whole service end as failed.
    try? await cancelWhenGracefulShutdown {
      while true {
        if !supervisor.isHopeless { ServiceManager.watchdogPing() }
        books?.closeAccounts()
        try await clock.sleep(until: clock.now + interval, tolerance: interval / 10)
      }
    }
  }
}
