import MonotonicTime
import Outputs
import ServiceLifecycle

/// Tells systemd that the process is alive, as often as the unit asks for.
struct Watchdog: Service {
  let interval: Duration
  /// Whose accounts are closed with it, as the process is awake then.
  let books: PowerBooksKeeper?

  func run() async throws {
    let clock = MonotonicClock()
    // Ending is what the cancellation is for; an error would make the whole service end as failed.
    try? await cancelWhenGracefulShutdown {
      while true {
        ServiceManager.watchdogPing()
        books?.closeAccounts()
        try await clock.sleep(until: clock.now + interval, tolerance: interval / 10)
      }
    }
  }
}
