import Hub
import MonotonicTime
import Outputs
import ServiceLifecycle

/// Tells systemd that the process is alive, as often as the unit requires. It stops if a reader hangs that nothing
/// frees. Then systemd restarts the process, and `sensorhub safe` drives the lines low in between.
struct Watchdog: Service {
  let interval: Duration
  let supervisor: Supervisor
  /// The books whose accounts are closed at the same time, because the process is awake then.
  let usageHistories: UsageHistoryKeeper?

  func run() async throws {
    let clock = MonotonicClock()
    // A cancellation means the end; an error would make the whole service fail.
    try? await cancelWhenGracefulShutdown {
      while true {
        if !supervisor.isHopeless { ServiceManager.watchdogPing() }
        usageHistories?.updateEnergy()
        try await clock.sleep(until: clock.now + interval, tolerance: interval / 10)
      }
    }
  }
}
