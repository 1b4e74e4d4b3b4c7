import Hub
import MonotonicTime
import Outputs
import ServiceLifecycle

/// Tells systemd that the process is alive, as often as the unit requires. If a reader hangs and cannot be stopped,
/// this service sends no more pings. systemd then ends the process, drives the power lines to their safe levels with
/// `sensorhub safe`, and restarts the process.
struct Watchdog: Service {
  let interval: Duration
  let supervisor: Supervisor
  /// The usage histories, which are brought up to date at the same time, because the process is awake then.
  let usageHistories: UsageHistoryKeeper?

  func run() async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await ping() }
      group.addTask { await untilShutdown() }
      await group.next()
      group.cancelAll()
    }
  }

  /// Sends pings until the task is cancelled.
  private func ping() async {
    let clock = MonotonicClock()
    repeat {
      if !supervisor.isHopeless { ServiceManager.watchdogPing() }
      usageHistories?.updateEnergy()
    } while (try? await clock.sleep(until: clock.now + interval, tolerance: interval / 10)) != nil
  }
}
