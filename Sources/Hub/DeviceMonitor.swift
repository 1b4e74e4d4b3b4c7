import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Receives the reports about one device, and gives its status, its alarms, its idle timeout and its sleep mode.
///
/// `DeviceMachine` decides. The lock and the clock belong to the monitor. Under the lock, the monitor passes energy and
/// events on to the usage history, and stages the status. It delivers the status and sets the alarm after it has
/// released the lock.
///
/// The monitor works only when something changes. A device that sleeps, or continues to track, causes no work here.
public final class DeviceMonitor: Sendable {
  private struct CounterSource {
    let read: @Sendable () -> [DeviceStatus.Counter]
  }

  private struct State {
    var machine: DeviceMachine
    var actions = RestActions()
    var usageHistory: UsageHistory

    /// The remaining energy of the budget; `nil` without a budget.
    var budgetLeft: Double? { machine.budget.map { usageHistory.left(of: $0) } }

    /// Adds the time and the energy since the last call.
    mutating func goOn(until now: MonotonicInstant) {
      let charge = machine.goOn(until: now)
      if let charge { usageHistory.charge(charge) }
    }
  }

  public let id: String
  let health: DeviceHealth
  /// The gate is closed while a device of the previous board uses the same hardware.
  let startGate = StartGate()
  private let clock: any MonotonicTimeSource
  private let rail: PowerRail
  private let state: Guarded<State>
  private let property: MutableProperty<DeviceStatus>
  /// Reads the reader's counters; `nil` until the reader sets it.
  private let counters = Guarded<CounterSource?>(nil)
  private let following = Lifetime()
  /// The alarm for the earliest of `State.actions`.
  private let restAlarm: Alarm

  init(
    id: String, kind: DeviceStatus.Kind, title: String, power: Board.Power, rail: PowerRail,
    clock: any MonotonicTimeSource
  ) {
    self.id = id
    health = DeviceHealth(clock: clock)
    restAlarm = Alarm(clock: clock)
    self.clock = clock
    self.rail = rail
    let now = clock.now
    let status = DeviceStatusMachine(
      id: id, kind: kind, title: title, hasSwitch: rail.switch != .none, isSupplied: rail.supply.value.isOn, at: now)
    // This history is used until the hub provides one with `keep`.
    let usageHistory = UsageHistory(of: id, systemTime: { 0 })
    let machine = DeviceMachine(status, power, isReceiver: kind == .receiver, at: now)
    state = Guarded(State(machine: machine, usageHistory: usageHistory))
    property = MutableProperty(status.status(with: nil))
    clock.onResume { [weak self] in self?.resume(after: $0) }.store(in: following)
    rail.supply.subscribe(
      as: "monitor", receiveValue: { [weak self] supply in self?.change { state, _ in state.machine.take(supply) } }
    ).store(in: following)
  }

  /// Makes a change under the lock, and delivers the status afterwards if the change affects it.
  private func change(_ change: (inout State, _ now: MonotonicInstant) -> Void) {
    if stage(change) { deliver() }
  }

  /// Makes a change under the lock, and stages the status if the change affects it.
  ///
  /// - Returns: whether the caller must call `deliver`
  private func stage(_ change: (inout State, _ now: MonotonicInstant) -> Void) -> Bool {
    state.withLock { state in
      let now = clock.now
      state.goOn(until: now)
      change(&state, now)
      state.machine.takeSteps(left: state.budgetLeft)
      return state.machine.update(at: now).map { property.stage($0) } ?? false
    }
  }

  /// Delivers the staged status.
  func deliver() { property.deliver() }

  /// Makes the stored times earlier by the duration of a suspension, so that durations include the suspension.
  private func resume(after slept: Duration) {
    health.goBack(by: slept)
    change { state, _ in
      state.machine.goBack(by: slept)
      state.actions.goBack(by: slept)
    }
    setRestAlarm()
  }

  // MARK: Status

  /// The status at each change. Its `onTime` and its energy are those at the change; `status` has the present ones.
  public var changes: Property<DeviceStatus> { property.readOnly }

  /// The present status. Wakes nothing.
  public var status: DeviceStatus {
    let counters = presentCounters
    return state.withLock { state in
      let now = clock.now
      state.goOn(until: now)
      var status = state.machine.present(left: state.budgetLeft, counters, health.condition(at: now))
      status.energyByClientOfDay = state.usageHistory.energyByClient(ofLast: 24).clients
      status.energyByClientOfWeek = state.usageHistory.energyByClient(ofLast: 7 * 24).clients
      status.idleTimeout = state.machine.idle.report(
        state.usageHistory.learned, state.machine.costs, state.usageHistory.acquisitions)
      return status
    }
  }

  /// The problems, the worst first, and whether a client needs the device. Reading them changes nothing.
  public var trouble: (isWanted: Bool, conditions: [DeviceCondition]) {
    state.withLock { state in
      (!state.machine.holders.isEmpty, state.machine.status.conditions(health.condition(at: clock.now)))
    }
  }

  /// The present alarms. Reading them changes nothing.
  public var alarms: DeviceAlarms { state.withLock { $0.machine.status.alarms(health.condition(at: clock.now)) } }

  /// Sets an alarm, or ends it with `nil`. Observers are not notified of an alarm, but of the warning on the same
  /// subject.
  func alarm(_ alarm: DeviceAlarm, _ text: String?) { state.withLock { $0.machine.status.setAlarm(alarm, text) } }

  /// Sets a warning for the owner, or ends it with `nil`.
  func setWarning(about subject: DeviceWarnings.Subject, _ text: String?) {
    if stageWarning(about: subject, text) { deliver() }
  }

  /// Sets a warning like `setWarning`, under the lock under which the caller has decided it. Otherwise a thread that
  /// decided earlier could set its warning later.
  ///
  /// - Returns: whether the caller must call `deliver` on the same thread after it has released its lock
  func stageWarning(about subject: DeviceWarnings.Subject, _ text: String?) -> Bool {
    stage { state, _ in state.machine.status.setWarning(about: subject, text) }
  }

  /// Reports whether the battery that the device measures is low, under the lock under which the caller has decided it.
  ///
  /// - Parameters:
  ///   - text: the description of the low battery; `nil` if the battery is not low
  ///   - isDecided: whether the state of the battery is known; `false` before the first decision
  /// - Returns: whether the caller must call `deliver` on the same thread after it has released its lock
  func stageBattery(isLow text: String?, isDecided: Bool) -> Bool {
    stage { state, _ in
      state.machine.status.setBatteryUndecided(!isDecided)
      state.machine.status.setAlarm(.supply, text)
      state.machine.status.setWarning(about: .supply, text)
    }
  }

  /// Why the supply is still on, if it could not be switched off.
  public var switchProblem: String? { state.withLock { $0.machine.status.switchProblem } }

  /// Whether the supply is on for the device, and the device starts, works, or is in its idle timeout.
  var isWorking: Bool { state.withLock { $0.machine.status.power.isWorking } }

  /// Sets the activity of the device's lazy publisher, from which the status follows.
  func follow(_ activity: SourceActivity) { change { state, _ in state.machine.status.take(activity) } }

  /// Whether a holder that meets the condition needs the device, also while the device fails and is tried again.
  func isHeld(by isMeant: (Holder) -> Bool = { _ in true }) -> Bool {
    state.withLock { $0.machine.holders.contains(where: isMeant) }
  }

  /// Whether the device runs, or starts, for a holder that meets the condition.
  func isWanted(by isMeant: (Holder) -> Bool = { _ in true }) -> Bool {
    state.withLock { $0.machine.status.isSubscribed && $0.machine.holders.contains(where: isMeant) }
  }

  // MARK: Runs

  /// Records that the supply is on for the device, which must settle.
  func required() {
    health.required()
    change { state, now in state.machine.required(at: now) }
  }

  /// Records that the device has started: a chip has answered, or a receiver's line is open. This counts as a wake.
  ///
  /// Observers get the count with the next change, which follows soon.
  func woke() { state.withLock { $0.machine.status.woke() } }

  /// Records that the device answers, but has no useful value yet.
  func acquiring() {
    health.acquiring()
    change { state, _ in state.machine.status.acquiring() }
  }

  func tracking() {
    health.tracking()
    change { state, now in state.usageHistory.learn(from: state.machine.tracking(at: now)) }
  }

  /// Updates the limits of the energy budget while the device continues to work.
  func goesOn() { if state.withLock({ $0.machine.budget != nil }) { change { _, _ in } } }

  /// Records that the device needs no supply any more.
  ///
  /// A second call changes nothing. It may come from a reader that counted as hanging and then returned.
  func released() {
    health.released()
    change { state, now in state.usageHistory.learn(from: state.machine.released(at: now)) }
  }

  /// Sets the current while the device waits for motion without other holders; `nil` if it stops waiting.
  func waitsForMotion(milliamperes: Double?) {
    change { state, _ in state.machine.status.waitsForMotion(milliamperes: milliamperes) }
  }

  /// Records that the reader is about to shut down. When the last holder leaves, the device then gets no idle timeout,
  /// and no sleep mode that needs its supply.
  func ends(because reason: String) { state.withLock { $0.machine.idle.ending = reason } }

  /// Whether the device is being shut down, so that it gets no further holders.
  var isEnding: Bool { state.withLock { $0.machine.idle.ending != nil } }

  // MARK: Energy

  /// The device's usage history, across restarts of the hub.
  public var usageHistory: UsageHistory { state.withLock { $0.usageHistory } }

  /// Uses this usage history from now on.
  func keep(_ usageHistory: UsageHistory) { state.withLock { $0.usageHistory = usageHistory } }

  /// Applies a board file's power settings from now on.
  func follow(_ power: Board.Power) { change { state, _ in state.machine.follow(power) } }

  /// Stops counting energy, because another monitor continues the totals.
  func close() -> RunTotals {
    let totals = totals
    state.withLock { $0.machine.energy.close() }
    return totals
  }

  /// The device's totals until now.
  var totals: RunTotals {
    let counters = presentCounters
    return state.withLock { state in
      state.goOn(until: clock.now)
      return state.machine.totals(counters)
    }
  }

  /// Continues the totals that this device had under the previous board file. They include the energy up to now, so
  /// this monitor counts from now on.
  func open(with totals: RunTotals) { state.withLock { $0.machine.open(with: totals, at: clock.now) } }

  func count(with counters: @escaping @Sendable () -> [DeviceStatus.Counter]) {
    self.counters.withLock { $0 = CounterSource(read: counters) }
  }

  private var presentCounters: [DeviceStatus.Counter] { counters.withLock { $0 }?.read() ?? [] }

  /// Sets the measured power from now on; `nil` if it is not measured. No observer is notified, because only the energy
  /// changes.
  func measured(milliwatts: Double?) {
    state.withLock { state in
      state.goOn(until: clock.now)
      state.machine.energy.measuredMilliwatts = milliwatts
    }
  }

  /// The present power in milliwatts, by the currents in the board file.
  var statedMilliwatts: Double { state.withLock { $0.machine.statedMilliwatts } }

  /// The limits that the energy budget sets for fixes at present.
  var degradation: Degradation {
    state.withLock { state in
      guard state.machine.budget != nil else { return .none }
      state.goOn(until: clock.now)
      state.machine.takeSteps(left: state.budgetLeft)
      return state.machine.degradation
    }
  }

  /// The names of the clients that the device's energy is charged to, in the order of their arrival.
  var payers: [String] { state.withLock { $0.machine.energy.payers?.payers.map(\.name) ?? [] } }

  /// Changes the holders of the device, or the holders for which it waits for motion. From now on, energy is charged
  /// to the new holders.
  func changeHolders(_ change: (inout DeviceHolders) -> Void) {
    state.withLock { state in
      let charge = state.machine.changeHolders(at: clock.now, change)
      if let charge { state.usageHistory.charge(charge) }
    }
  }

  // MARK: Rest

  /// The minimum times that the supply is on and off.
  var timing: LifecycleTiming { state.withLock { $0.machine.idle.power.timing } }

  /// The start of the rest; `nil` while the device works, or if unknown.
  var restingSince: MonotonicInstant? { state.withLock { $0.machine.idle.restingSince } }

  /// Records that a device with a switch has been off since an instant before this run of the hub, because the machine
  /// was. Its next start is then one to learn from. Call this before the first start of the run.
  func wasOff(since instant: MonotonicInstant) {
    state.withLock { if $0.machine.idle.power.switch != .none { $0.machine.idle.rested(since: instant) } }
  }

  /// Sets the next scheduled wake; `nil` if none is known.
  ///
  /// - Returns: whether this is a change
  @discardableResult
  func expectWake(at instant: MonotonicInstant?) -> Bool { state.withLock { $0.machine.idle.expectWake(at: instant) } }

  /// Chooses the mode in which a receiver sleeps with its supply on, from the expected pause and the known costs of
  /// starts; `nil` for none.
  func chooseSleep(of driver: ReceiverDriver) -> ReceiverSleep? {
    state.withLock { state in
      let usageHistory = state.usageHistory
      return state.machine.chooseSleep(
        of: driver, at: clock.now, usageHistory.learned, starts: usageHistory.starts)
    }
  }

  /// Records how the device rests after its run.
  ///
  /// - Parameters:
  ///   - isAsleep: whether it was put to sleep; `false` if this failed
  ///   - sleep: the sleep mode, in which the supply stays on; `nil` if the device has no such mode
  func ended(isAsleep: Bool, as sleep: ReceiverSleep? = nil) {
    change { state, _ in state.machine.idle.ended(isAsleep: isAsleep, as: sleep) }
  }

  /// The duration of a rest after which switching the supply off costs less; `nil` if the supply stays on.
  var supplyEndsAfter: Duration? { state.withLock { $0.machine.idle.supplyEndsAfter } }

  /// Performs an action after the device has rested for a time, unless a client needs the device first.
  func whileResting(after rest: Duration, _ action: @escaping @Sendable () -> Void) {
    let at = clock.now + rest
    state.withLock { $0.actions.add(at: at, Callback(action)) }
    setRestAlarm()
  }

  /// Cancels the actions, because a client needs the device again, or because no client will need it any more.
  func cancelSleepActions() {
    state.withLock { $0.actions.cancel() }
    restAlarm.cancel()
  }

  private func setRestAlarm() {
    // Another thread may change the first action before this thread sets the alarm. The alarm then has the wrong time,
    // so set it again.
    while let next = state.withLock({ $0.actions.next }) {
      restAlarm.set(at: next) { [weak self] in self?.performSleepActions() }
      if state.withLock({ $0.actions.next }) == next { return }
    }
  }

  private func performSleepActions() {
    for action in state.withLock({ $0.actions.takeDue(at: clock.now) }) { action() }
    setRestAlarm()
  }
}

extension DeviceMonitor: IdleTimeoutPolicy {
  public func firstCame(_ holder: Holder, at now: MonotonicInstant) {
    state.withLock { state in state.usageHistory.learn(from: state.machine.firstCame(holder, at: now)) }
  }

  public func lastLeft(_ holder: Holder, at now: MonotonicInstant) -> IdleTimeout {
    state.withLock { state in state.machine.lastLeft(holder, at: now, state.usageHistory.learned) }
  }

  /// The end of the minimum time off. If there is a switch, the time counts from when the supply was switched off, no
  /// matter which device it was on for.
  public func offEnd(_ usual: MonotonicInstant?) -> MonotonicInstant? {
    rail.switch == .none ? usual : rail.offEnd(timing.minimumOff)
  }

  public func reconsidered(at now: MonotonicInstant) -> IdleTimeout? {
    state.withLock { state in state.machine.reconsidered(at: now, state.usageHistory.learned) }
  }
}
