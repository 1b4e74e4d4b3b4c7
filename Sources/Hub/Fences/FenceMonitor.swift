import Guarding
import MonotonicTime
import Publishing

/// Watches one fence. It subscribes to fixes, and sets their interval after each fix. It outlives a reload of the board
/// file. Between two fixes there is one timer, which fires if the next fix is late.
public final class FenceMonitor: Sendable {
  private struct State {
    var rule: FenceRule
    var lease: Subscription?
    var isOver = false
  }

  public let settings: FenceSettings
  private let clock: any MonotonicTimeSource
  private let schedule: MutableProperty<Schedule>
  private let state: Guarded<State>
  /// The alarm for the instant at which the next fix is late.
  private let alarm: Alarm
  private let report: @Sendable (FenceStatus) -> Void
  private let lifetime = Lifetime()

  /// - Parameters:
  ///   - side: the last known side, from an earlier watch
  ///   - report: called with each change of the state and its event, on the thread of the change; it must not wait
  public init(
    _ settings: FenceSettings, rememberedSide side: FenceStatus.State? = nil, clock: any MonotonicTimeSource,
    report: @escaping @Sendable (FenceStatus) -> Void
  ) {
    self.settings = settings
    self.clock = clock
    alarm = Alarm(clock: clock)
    self.report = report
    let rule = FenceRule(settings, rememberedSide: side, at: clock.now)
    schedule = MutableProperty(rule.schedule)
    state = Guarded(State(rule: rule))
    clock.onResume { [weak self] in self?.resume(after: $0) }.store(in: lifetime)
  }

  /// The status as of its last change, with the last fix.
  public var status: FenceStatus { state.withLock { $0.rule.status } }

  /// The status, and the time of the next fix.
  public var snapshot: FenceSnapshot {
    state.withLock { state in
      FenceSnapshot(
        area: settings.area, status: state.rule.status, dueAt: state.rule.wantedAt, blindAt: state.rule.blindAt)
    }
  }

  /// Wakes receivers for fixes from now on.
  public func begin(on hub: Hub) {
    let lease = hub.fixes(on: schedule.readOnly).subscribe(
      as: "fence \(settings.name)", receiveValue: { [weak self] in self?.receive($0) })
    let isTooLate = state.withLock { state in
      if !state.isOver { state.lease = lease }
      return state.isOver
    }
    if isTooLate { lease.cancel() }
    setAlarm()
  }

  public func end() {
    let lease = state.withLock { state in
      state.isOver = true
      defer { state.lease = nil }
      return state.lease
    }
    alarm.end()
    lease?.cancel()
  }

  private func receive(_ fix: RequestedFix) {
    let (event, next, status) = state.withLock { state in
      let event = state.isOver ? nil : state.rule.receive(FenceFix(fix), at: clock.now)
      return (event, state.rule.schedule, state.rule.status)
    }
    // Set the schedule before observers are notified, so that a device that is needed again at once does not fall
    // asleep.
    schedule.value = next
    setAlarm()
    if event != nil { report(status) }
  }

  /// Treats fixes that were missed while the machine was suspended as late.
  private func resume(after slept: Duration) {
    state.withLock { $0.rule.goBack(by: slept) }
    look()
  }

  private func look() {
    let (event, status) = state.withLock { state in
      (state.isOver ? nil : state.rule.lookForLate(at: clock.now), state.rule.status)
    }
    // Without an event, no fix is late yet. A fix or a suspension may have changed `blindAt` since the alarm was set,
    // so set the alarm again.
    if event != nil { report(status) } else { setAlarm() }
  }

  private func setAlarm() {
    // The alarm is set outside the lock, because `look()`, which takes the lock, may run at once.
    alarm.set(asking: { state.withLock { $0.isOver ? nil : $0.rule.blindAt } }) { [weak self] in self?.look() }
  }
}
