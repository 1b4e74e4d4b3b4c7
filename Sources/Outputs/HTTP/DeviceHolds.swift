import Guarding
import MonotonicTime
import Publishing

/// Devices that somebody has asked to be kept awake for some time, one hold a device: a new one takes the place of the old.
final class DeviceHolds: Sendable {
  private struct Hold {
    var lease: Subscription
    var timer: ScheduledAction
  }

  private let host: HubHost
  private let clock: any MonotonicTimeSource
  private let holds = Guarded<[String: Hold]>([:])

  init(host: HubHost, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.host = host
    self.clock = clock
  }

  /// Keeps a device awake.
  func hold(_ id: String, for duration: Duration, as holder: String) {
    // The new lease stands before the old one goes: holding on is no reason for a power cycle.
    let lease = host.readings(of: id).subscribe(as: holder, receiveValue: { _ in })
    let timer = clock.schedule(at: clock.now + duration) { [weak self] in self?.release(id, lease) }
    replace(id, with: Hold(lease: lease, timer: timer))
  }

  /// Lets a device sleep that is held.
  func release(_ id: String) { replace(id, with: nil) }

  /// Ends every hold: nobody is left who could.
  func releaseAll() { for id in holds.withLock({ Array($0.keys) }) { release(id) } }

  /// The time of a hold is over; a newer one stays.
  private func release(_ id: String, _ lease: Subscription) {
    let old = holds.withLock { $0[id]?.lease === lease ? $0.removeValue(forKey: id) : nil }
    old?.lease.cancel()
  }

  private func replace(_ id: String, with new: Hold?) {
    let old = holds.withLock { holds in
      defer { holds[id] = new }
      return holds[id]
    }
    old?.timer.cancel()
    old?.lease.cancel()
  }
}
