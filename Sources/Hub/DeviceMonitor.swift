import Guarding
import MonotonicTime
import Publishing

/// Keeps the books of one device: its power state and who holds it, how long it was on and what that took.
///
/// Changes only when something changes: a device that sleeps, or tracks on and on, causes no work here.
public final class DeviceMonitor: Sendable {
  private struct CounterSource {
    let read: @Sendable () -> [DeviceStatus.Counter]
  }

  private struct State {
    var status: DeviceStatus
    /// Of the runs before the present one.
    var finishedOnTime = Duration.zero
    var onSince: MonotonicInstant?
    /// How far the reader has got in this run.
    var progress: DeviceStatus.Power?
    var hasTracked = false
    var activity: Activity?
  }

  private let clock: any MonotonicTimeSource
  private let milliwatts: Double
  private let state: Guarded<State>
  private let property: MutableProperty<DeviceStatus>
  /// Asks the reader for what it has counted.
  private let counters = Guarded<CounterSource?>(nil)

  init(id: String, title: String, milliwatts: Double, clock: any MonotonicTimeSource) {
    self.clock = clock
    self.milliwatts = milliwatts
    let status = DeviceStatus(
      id: id, title: title, power: .off, since: clock.now, reason: "nobody has subscribed yet", holders: [],
      onTime: .zero, wakes: 0, energyMilliwattHours: 0, timeToFirstFix: nil, counters: [])
    state = Guarded(State(status: status))
    property = MutableProperty(status)
  }

  /// Changes of the status; its on-time and energy are those at the change.
  public var changes: Property<DeviceStatus> { property.readOnly }

  /// The status as of now. Wakes nothing.
  public var status: DeviceStatus {
    let counters = counters.withLock { $0 }?.read() ?? []
    return state.withLock { state in
      var status = accounted(state)
      status.counters = counters
      return status
    }
  }

  func count(with counters: @escaping @Sendable () -> [DeviceStatus.Counter]) {
    self.counters.withLock { $0 = CounterSource(read: counters) }
  }

  func poweredOn() {
    change { state in
      state.onSince = clock.now
      state.status.wakes += 1
      state.hasTracked = false
      state.progress = .settling
    }
  }

  func poweredOff() {
    change { state in
      state.status = accounted(state)
      state.finishedOnTime = state.status.onTime
      state.onSince = nil
      state.progress = nil
    }
  }

  /// The device answers, but has nothing useful to say yet.
  func acquiring() { change { $0.progress = .acquiring } }

  func tracking() {
    change { state in
      guard state.progress != .tracking else { return }
      if !state.hasTracked, let onSince = state.onSince { state.status.timeToFirstFix = clock.now - onSince }
      state.hasTracked = true
      state.progress = .tracking
    }
  }

  /// Says something about the device itself that its owner should know.
  func remark(_ text: String) { change { $0.status.remark = text } }

  /// Follows the lazy publisher that the device is behind.
  func follow(_ activity: Activity) { change { $0.activity = activity } }

  private func change(_ change: (inout State) -> Void) {
    let mustDeliver = state.withLock { state in
      let before = state.status
      change(&state)
      let (power, reason) = present(state)
      if power != before.power {
        state.status = accounted(state)
        state.status.since = clock.now
      }
      state.status.power = power
      state.status.reason = reason
      state.status.holders = state.activity?.holders ?? []
      return state.status == before ? false : property.stage(state.status)
    }
    if mustDeliver { property.deliver() }
  }

  private func present(_ state: State) -> (DeviceStatus.Power, String) {
    guard let activity = state.activity else { return (state.progress ?? .off, state.status.reason) }
    switch activity.phase {
    case .failed: return (.failed, activity.reason)
    case .lingering where state.progress != nil: return (.lingering, activity.reason)
    case .idle: return (.off, activity.reason)
    // On its way out a device does what it did before.
    case .stopping where state.progress != nil: return (state.status.power, state.status.reason)
    case .running where state.progress == .tracking: return (.tracking, "it measures")
    case .running where state.progress == .acquiring:
      return (.acquiring, state.hasTracked ? "nothing useful from it any more" : "nothing useful from it yet")
    case .starting, .running, .lingering, .stopping: return (state.progress ?? .off, activity.reason)
    }
  }

  /// The status with the time and energy of the present run added up to now.
  private func accounted(_ state: borrowing State) -> DeviceStatus {
    var status = state.status
    guard let onSince = state.onSince else { return status }
    status.onTime = state.finishedOnTime + (clock.now - onSince)
    status.energyMilliwattHours = milliwatts * status.onTime.inSeconds / 3600
    return status
  }
}
