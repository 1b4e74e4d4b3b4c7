import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Puts a device whose sleep mode ends by itself to sleep again. The device runs for a moment, and sleeps again at the
/// end of the run.
final class SleepRenewal: Sendable {
  /// The longest duration of a run that renews the sleep.
  private static let longestVisit = Duration.seconds(30)
  /// The delay before another attempt if the run failed.
  private static let retry = Duration.seconds(3600)

  private struct State {
    var action: Callback?
    var lease: Subscription?
    var isOver = false
  }

  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())
  private let alarm: Alarm

  init(clock: any MonotonicTimeSource) {
    self.clock = clock
    alarm = Alarm(clock: clock)
  }

  deinit { alarm.end() }

  /// Sets the action that puts the device to sleep.
  func performs(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = Callback(action) } }

  func perform() {
    let action = state.withLock { $0.isOver ? nil : $0.action }
    action?()
  }

  /// Runs a source until it sends its first value or fails, for `longestVisit` at most. The times of these runs are
  /// known in advance, so they count as scheduled, and the hub learns nothing about clients from them.
  func visit<Sample: Sendable>(_ source: LazyPublisher<Sample, HardwareError>, _ monitor: DeviceMonitor) {
    let lease = source.subscribe(
      as: Holder.standIn("sleep").labelled("putting it to sleep again", purpose: .schedule),
      receiveValue: { [weak self] _ in self?.leave() },
      receiveCompletion: { [weak self, weak monitor] completion in
        self?.leave()
        guard case .failed = completion else { return }
        monitor?.whileResting(after: SleepRenewal.retry) { [weak self] in self?.perform() }
      })
    let isTooLate = state.withLock { state in
      if !state.isOver { state.lease = lease }
      return state.isOver
    }
    if isTooLate { return lease.cancel() }
    alarm.set(at: clock.now + SleepRenewal.longestVisit) { [weak self] in self?.leave() }
  }

  private func leave() {
    let lease = state.withLock { state in
      defer { state.lease = nil }
      return state.lease
    }
    alarm.cancel()
    lease?.cancel()
  }

  /// Ends the renewals, because the device will not be woken any more.
  func end() {
    state.withLock { $0.isOver = true }
    leave()
  }
}
