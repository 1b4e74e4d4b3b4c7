import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Records the power state, the holders, the time on, the energy and the warnings of one device. It also decides the
/// device's idle timeout, its sleep mode and the steps of its energy budget.
///
/// The monitor works only when something changes. A device that sleeps, or continues to track, causes no work here.
public final class DeviceMonitor: Sendable {
  private struct CounterSource {
    let read: @Sendable () -> [DeviceStatus.Counter]
  }

  /// An action for a resting device.
  fileprivate struct SleepAction {
    var at: MonotonicInstant
    let perform: Callback
  }

  fileprivate struct State {
    /// The status. Its time on and its energy are copied from `energy` at each update.
    var status: DeviceStatus
    var energy: EnergyTotals
    /// When the reader began to require the supply; `nil` while it does not.
    var requiredSince: MonotonicInstant?
    /// Whether the supply is on for another reason than the device's reader: the supply has no switch, was left on, or
    /// is on for another device or for the device's sleep.
    var isSupplied: Bool
    /// The other devices that keep the supply on.
    var others: [String] = []
    /// The progress of the reader in this run.
    var progress: DeviceStatus.Power?
    var hasTracked = false
    var warnings = DeviceWarnings()
    var warningSince: MonotonicInstant
    /// The alarms that the device reports.
    var alarms: [DeviceAlarm: String] = [:]
    var switchProblem: String?
    var activity: SourceActivity?
    /// The holders of the device, also between two attempts of its reader.
    var holders = HolderSet()
    var shares = PayerShares()
    /// The shares of the holders for which the device waits for motion.
    var waitingShares = PayerShares()
    /// The current while the device waits for motion without other holders; `nil` while it does not wait.
    var waitingMilliamperes: Double?
    var usage = UsageRecorder()
    var idleTimeout = DeviceIdleTimeout()
    /// Why the device is about to be switched off permanently; `nil` if it is not. With a reason, the device has no
    /// idle timeout.
    var ending: String?
    var usageHistory: UsageHistory
    /// The power settings that the board file has at present.
    var power: Board.Power
    /// The number of budget steps that apply.
    var budgetStepCount = 0
    var rest = DeviceSleep()
    /// The actions in the order of their instants.
    var sleepActions: [SleepAction] = []
    /// Whether the supply is on for the device's sleep.
    var sleepsByItself = false

    var policy: PowerPolicy { power.policy }

    var isRequired: Bool { requiredSince != nil }

    var use: EnergyTotals.Use {
      if isRequired { return hasTracked ? .measuring : .starting }
      return waitingMilliamperes.map { .waitingForMotion(milliamperes: $0) } ?? .resting
    }
  }

  public let id: String
  let health: DeviceHealth
  /// The gate is closed while a device of the previous board uses the same hardware.
  let startGate = StartGate()
  private let clock: any MonotonicTimeSource
  private let rail: PowerRail
  private let isReceiver: Bool
  private let state: Guarded<State>
  private let property: MutableProperty<DeviceStatus>
  /// Reads the reader's counters; `nil` until the reader sets it.
  private let counters = Guarded<CounterSource?>(nil)
  private let following = Lifetime()
  /// The alarm for the first of `sleepActions`.
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
    isReceiver = kind == .receiver
    let isAlways = rail.switch == .none
    let isSupplied = rail.supply.value.isOn
    let now = clock.now
    let status = DeviceStatus(
      id: id, kind: kind, title: title, power: isSupplied ? .asleep : .off, since: now,
      reason: "no subscriber yet",
      holders: [], onTime: .zero, wakes: 0, energyMilliwattHours: 0, timeToFirstFix: nil, counters: [])
    // This history is used until the hub provides one with `keep`.
    let usageHistory = UsageHistory(of: id, systemTime: { 0 })
    state = Guarded(
      State(
        status: status, energy: EnergyTotals(at: now), isSupplied: isSupplied, warningSince: now,
        usageHistory: usageHistory,
        power: power))
    property = MutableProperty(status)
    clock.onResume { [weak self] in self?.resume(after: $0) }.store(in: following)
    rail.supply.subscribe(
      as: "monitor",
      receiveValue: { [weak self] supply in
        self?.change { state in
          state.others = (supply.users + supply.sleepers).filter { $0 != id }
          state.sleepsByItself = supply.sleepers.contains(id)
          // While only this device uses the supply, its reader reports the use.
          let isLeftOn = supply.users.isEmpty
          state.isSupplied = supply.isOn && (isAlways || isLeftOn || !state.others.isEmpty || state.sleepsByItself)
          if !supply.isOn { state.rest.lostSupply() }
          // The problem counts only if the supply counts as on. A supply whose line has never existed counts as off.
          state.switchProblem = supply.isOn ? supply.problem.map { "its supply could not be switched off: \($0)" } : nil
        }
      }
    ).store(in: following)
  }

  /// Moves the times back after the machine was suspended, so that durations include the suspension.
  private func resume(after slept: Duration) {
    health.goBack(by: slept)
    change { state in
      state.usage.goBack(by: slept)
      state.idleTimeout.goBack(by: slept)
      state.status.since.moveBack(by: slept)
      state.warningSince.moveBack(by: slept)
      // A sleeping device's own clock continued during the suspension, so its actions are due earlier.
      for index in state.sleepActions.indices { state.sleepActions[index].at.moveBack(by: slept) }
    }
    setRestAlarm()
  }

  /// The status at each change. Its `onTime` and its energy are those at the change; `status` has the present ones.
  public var changes: Property<DeviceStatus> { property.readOnly }

  /// The present status. Wakes nothing.
  public var status: DeviceStatus {
    let counters = counters.withLock { $0 }?.read() ?? []
    return state.withLock { state in
      updateEnergy(&state)
      var status = state.status
      status.holders = state.holders.list.map(\.label)
      status.counters = state.energy.counters(counters)
      status.milliwatts = state.energy.measuredMilliwatts ?? stated(state)
      status.energyByClient = state.energy.energyByClient.clients
      status.energyByClientOfDay = state.usageHistory.energyByClient(ofLast: 24).clients
      status.energyByClientOfWeek = state.usageHistory.energyByClient(ofLast: 7 * 24).clients
      status.idleTimeout = idleTimeout(state)
      status.budget = budget(state)
      if let budget = status.budget {
        // A sleeping device gets no updates, but its budget grows with each hour.
        var warnings = state.warnings
        warnings[.budget] = budget.warning
        status.warning = state.switchProblem ?? warnings.text
      }
      status.conditions = conditions(state)
      return status
    }
  }

  /// The problems, the worst first, and whether a client needs the device. Reading them changes nothing.
  public var trouble: (isWanted: Bool, conditions: [DeviceCondition]) {
    state.withLock { state in
      (!state.holders.list.isEmpty, conditions(state))
    }
  }

  /// The problems, the worst first.
  private func conditions(_ state: borrowing State) -> [DeviceCondition] {
    var conditions = [health.condition(at: clock.now)].compactMap { $0 }
    if let problem = state.switchProblem {
      conditions.append(DeviceCondition(.supply, .problem, problem, since: state.warningSince))
    }
    if let warning = state.warnings.text {
      conditions.append(DeviceCondition(.warning, .warning, warning, since: state.warningSince))
    }
    return conditions.sorted { $0.severity > $1.severity }
  }

  /// The present alarms. Reading them changes nothing.
  public var alarms: DeviceAlarms {
    state.withLock { state in
      let condition = health.condition(at: clock.now)
      return DeviceAlarms(
        reported: state.alarms, failure: condition.flatMap { $0.kind == .failed ? $0 : nil },
        lineProblem: state.switchProblem, isMeasuring: state.status.power == .tracking,
        isHeard: state.status.power == .tracking || state.status.power == .acquiring)
    }
  }

  /// Sets an alarm, or ends it with `nil`. This notifies no observer; the warning on the same subject does.
  func alarm(_ alarm: DeviceAlarm, _ text: String?) { state.withLock { $0.alarms[alarm] = text } }

  /// Uses this usage history from now on.
  func keep(_ usageHistory: UsageHistory) { state.withLock { $0.usageHistory = usageHistory } }

  /// Applies a board file's power settings from now on.
  func follow(_ power: Board.Power) {
    change { state in
      let (old, policy) = (state.policy, power.policy)
      state.power = power
      if !policy.hasIdleTimeoutLike(old) { state.idleTimeout.isNews = true }
      if policy.budget != old.budget { (state.budgetStepCount, state.warnings[.budget]) = (0, nil) }
    }
  }

  /// Waits until no device of the previous board uses the same hardware.
  ///
  /// - Returns: whether the device may start; `false` if its reader was told to stop
  func waitsForGate(_ poller: Poller) -> Bool {
    var isLate = false
    defer { if isLate { setWarning(about: .predecessor, nil) } }
    return startGate.wait(poller) {
      isLate = true
      setWarning(
        about: .predecessor,
        "it has not started: a device of the previous board file with the same name, port, chip or line has not stopped"
      )
    }
  }

  /// Stops counting energy, because another monitor continues the totals.
  func close() -> RunTotals {
    let totals = totals
    state.withLock { $0.energy.close() }
    return totals
  }

  /// The device's totals until now.
  var totals: RunTotals {
    let counters = counters.withLock { $0 }?.read() ?? []
    return state.withLock { state in
      updateEnergy(&state)
      return state.energy.totals(wakes: state.status.wakes, counters)
    }
  }

  /// Continues the totals that this device had under the previous board file. They include the energy up to now, so
  /// this monitor counts from now on.
  func open(with totals: RunTotals) {
    state.withLock { state in
      state.energy.open(with: totals, at: clock.now)
      state.status.take(state.energy)
      state.status.wakes = totals.wakes
    }
  }

  /// Records that the reader is about to shut down. After its last holder, the device has no idle timeout and no sleep
  /// mode with its supply on.
  func ends(because reason: String) { state.withLock { $0.ending = reason } }

  /// Whether the device is being shut down, so that it gets no further holders.
  var isEnding: Bool { state.withLock { $0.ending != nil } }

  /// The minimum times that the supply is on and off.
  var timing: LifecycleTiming { state.withLock { $0.power.timing } }

  /// The start of the rest; `nil` while the device works, or if unknown.
  var restingSince: MonotonicInstant? { state.withLock { $0.usage.offSince } }

  /// Sets the next scheduled wake; `nil` if none is known.
  ///
  /// - Returns: whether this is a change
  @discardableResult
  func expectWake(at instant: MonotonicInstant?) -> Bool {
    state.withLock { state in
      defer { state.idleTimeout.nextWake = instant }
      return state.idleTimeout.nextWake != instant
    }
  }

  /// The device's usage history, across restarts of the hub.
  public var usageHistory: UsageHistory { state.withLock { $0.usageHistory } }

  /// Whether a holder that meets the condition needs the device.
  func isWanted(by isMeant: (Holder) -> Bool = { _ in true }) -> Bool {
    state.withLock { $0.activity.map { $0.subscriberCount > 0 } == true && $0.holders.contains(where: isMeant) }
  }

  /// The names of the clients that the device's energy is charged to, in the order of their arrival.
  var payers: [String] { state.withLock { $0.energy.payers?.payers.map(\.name) ?? [] } }

  /// Changes the holders of the device, or the holders for which it waits for motion. From now on, energy is charged
  /// to the new holders.
  fileprivate func changeHolders(_ change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      let (payers, waiting) = (state.shares.payers, state.waitingShares.payers)
      guard state.energy.isNews(payers, waiting: waiting) else { return }
      updateEnergy(&state)
      state.energy.charge(payers, waiting: waiting)
    }
  }

  /// Sets the current while the device waits for motion without other holders; `nil` if it stops waiting.
  func waitsForMotion(milliamperes: Double?) { change { $0.waitingMilliamperes = milliamperes } }

  /// The limits that the energy budget sets for fixes at present.
  var degradation: Degradation {
    state.withLock { state in
      guard let budget = state.policy.budget else { return .none }
      updateEnergy(&state)
      takeSteps(&state)
      return budget.degradation(state.budgetStepCount)
    }
  }

  /// Updates the limits of the energy budget while the device continues to work.
  func goesOn() { if state.withLock({ $0.policy.budget != nil }) { change { _ in } } }

  private func takeSteps(_ state: inout State) {
    guard let budget = budget(state) else { return }
    state.budgetStepCount = budget.stepCount
    state.warnings[.budget] = budget.warning
  }

  private func budget(_ state: borrowing State) -> BudgetReport? {
    state.policy.budget.map { budget in
      let left = state.usageHistory.left(of: budget)
      let count = budget.stepCount(left: left, taken: state.budgetStepCount)
      return BudgetReport(
        milliwattHoursPerDay: budget.milliwattHoursPerDay, leftMilliwattHours: left, stepCount: count,
        steps: budget.steps.count, degradation: budget.degradation(count))
    }
  }

  private func idleTimeout(_ state: borrowing State) -> IdleTimeoutReport {
    IdleTimeoutReport(
      isLearned: state.policy.learnsIdleTimeout, usual: state.policy.idleTimeout, learned: state.usageHistory.learned,
      costs: costs(state), acquisitions: state.usageHistory.acquisitions, sleep: state.rest.choice)
  }

  func count(with counters: @escaping @Sendable () -> [DeviceStatus.Counter]) {
    self.counters.withLock { $0 = CounterSource(read: counters) }
  }

  /// Records that the supply is on for the device, which must settle.
  func required() {
    health.required()
    change { state in
      let now = clock.now
      state.requiredSince = now
      state.usage.required(at: now, state.status.energyMilliwattHours, after: state.rest.sleep)
      state.status.wakes += 1
      state.hasTracked = false
      state.progress = .settling
    }
  }

  /// Records that the device needs no supply any more.
  ///
  /// A second call changes nothing. It may come from a reader that counted as hanging and then returned.
  func released() {
    health.released()
    change { state in
      state.progress = nil
      guard state.isRequired else { return }
      let start = state.usage.released(
        at: clock.now, state.status.energyMilliwattHours, restWatts: restMilliwatts(state) / 1000)
      state.usageHistory.learn(from: start)
      state.requiredSince = nil
    }
  }

  /// Records how the device rests after its run.
  ///
  /// - Parameters:
  ///   - isAsleep: whether it was put to sleep; `false` if this failed
  ///   - sleep: the sleep mode, in which the supply stays on; `nil` if the device has no such mode
  func ended(isAsleep: Bool, as sleep: ReceiverSleep? = nil) {
    change { $0.rest.began(isAsleep: isAsleep, as: sleep, $0.power) }
  }

  /// Chooses the mode in which a receiver sleeps with its supply on, from the expected pause and the known costs of
  /// starts; `nil` for none.
  func chooseSleep(of driver: ReceiverDriver) -> ReceiverSleep? {
    state.withLock { state in
      let now = clock.now
      let pause = SleepChoice.Pause(
        untilFix: state.idleTimeout.gap(at: now), state.usageHistory.learned,
        after: state.usage.awaySince.map { now.seconds(since: $0) })
      return state.rest.choose(
        for: pause, of: driver, state.power, workingMilliwatts: workingMilliwatts(state),
        learnt: state.usageHistory.starts)
    }
  }

  /// The duration of a rest after which switching the supply off costs less; `nil` if the supply stays on.
  var supplyEndsAfter: Duration? { state.withLock { $0.rest.supplyEndsAfter } }

  /// Performs an action after the device has rested for a time, unless a client needs the device first.
  func whileResting(after rest: Duration, _ action: @escaping @Sendable () -> Void) {
    let at = clock.now + rest
    state.withLock { state in
      let index = state.sleepActions.firstIndex { $0.at > at } ?? state.sleepActions.endIndex
      state.sleepActions.insert(SleepAction(at: at, perform: Callback(action)), at: index)
    }
    setRestAlarm()
  }

  /// Cancels the actions, because a client needs the device again, or never will.
  func cancelSleepActions() {
    state.withLock { $0.sleepActions = [] }
    restAlarm.cancel()
  }

  private func setRestAlarm() {
    // Another thread may change the first action in the meantime. This call must not then replace its alarm.
    while let next = state.withLock({ $0.sleepActions.first?.at }) {
      restAlarm.set(at: next) { [weak self] in self?.performSleepActions() }
      if state.withLock({ $0.sleepActions.first?.at }) == next { return }
    }
  }

  private func performSleepActions() {
    let due = state.withLock { state in
      let now = clock.now
      let count = state.sleepActions.firstIndex { $0.at > now } ?? state.sleepActions.endIndex
      defer { state.sleepActions.removeFirst(count) }
      return state.sleepActions[..<count]
    }
    for action in due { action.perform() }
    setRestAlarm()
  }

  /// Records that the device answers, but has no useful value yet.
  func acquiring() {
    health.acquiring()
    change { $0.progress = .acquiring }
  }

  func tracking() {
    health.tracking()
    change { state in
      guard state.progress != .tracking else { return }
      if !state.hasTracked, let since = state.requiredSince {
        let now = clock.now
        state.status.timeToFirstFix = now - since
        let start = state.usage.tracking(
          at: now, state.status.energyMilliwattHours, restWatts: restMilliwatts(state) / 1000)
        state.usageHistory.learn(from: start)
      }
      state.hasTracked = true
      state.progress = .tracking
    }
  }

  /// Sets a warning for the owner, or ends it with `nil`.
  func setWarning(about subject: DeviceWarnings.Subject, _ text: String?) { change { $0.warnings[subject] = text } }

  /// Why the supply is still on, if it could not be switched off.
  public var switchProblem: String? { state.withLock { $0.switchProblem } }

  /// Whether the supply is on for the device, and the device works or is about to.
  var isWorking: Bool { state.withLock { $0.status.power.isWorking } }

  /// The present power in milliwatts, by the currents in the board file.
  var statedMilliwatts: Double { state.withLock { stated($0) } }

  /// Sets the measured power from now on; `nil` if it is not measured. No observer is notified, because only the energy
  /// changes.
  func measured(milliwatts: Double?) {
    state.withLock { state in
      updateEnergy(&state)
      state.energy.measuredMilliwatts = milliwatts
    }
  }

  /// Sets the activity of the device's lazy publisher, from which the status follows.
  func follow(_ activity: SourceActivity) { change { $0.activity = activity } }

  private func change(_ change: (inout State) -> Void) {
    let mustDeliver = state.withLock { state in
      updateEnergy(&state)
      let before = state.status
      change(&state)
      takeSteps(&state)
      (state.status.power, state.status.reason) = present(state)
      if state.status.power != before.power { state.status.since = clock.now }
      state.status.lingersUntil = state.status.power == .lingering ? state.activity?.until : nil
      state.status.warning = state.switchProblem ?? state.warnings.text
      state.status.hasFinding = state.warnings[.finding] != nil
      state.status.isSupplyStuck = state.switchProblem != nil
      if state.status.warning != before.warning { state.warningSince = clock.now }
      // A change of energy alone does not count as a change.
      var unchanged = before
      (unchanged.measuredMilliwattHours, unchanged.energyMilliwattHours) = (
        state.status.measuredMilliwattHours, state.status.energyMilliwattHours
      )
      unchanged.onTime = state.status.onTime
      if state.status == unchanged { return false }
      // A change of holders alone does not count, so that holders that come and go at a high rate cause no
      // notifications.
      state.status.holders = state.holders.list.map(\.label)
      return property.stage(state.status)
    }
    if mustDeliver { property.deliver() }
  }

  private func present(_ state: State) -> (DeviceStatus.Power, String) {
    guard let activity = state.activity else { return (state.progress ?? unused(state), state.status.reason) }
    switch activity.phase {
    case .failed: return (.failed, activity.reason)
    case .idle where state.waitingMilliamperes != nil: return (unused(state), "it waits for motion")
    case .lingering where state.progress != nil: return (.lingering, activity.reason)
    case .idle where state.isSupplied && !state.others.isEmpty && !state.sleepsByItself:
      return (unused(state), "supplied for \(state.others.joined(separator: " and "))")
    case .idle: return (unused(state), activity.reason)
    // While it stops, the device keeps its previous state.
    case .stopping where state.progress != nil: return (state.status.power, state.status.reason)
    case .running where state.progress == .tracking: return (.tracking, "it measures")
    case .running where state.progress == .acquiring:
      let reason =
        if isReceiver {
          state.hasTracked ? "it has lost its fix" : "no fix yet"
        } else {
          state.hasTracked ? "no valid measurements any more" : "no valid measurements yet"
        }
      return (.acquiring, reason)
    case .starting, .running, .lingering, .stopping: return (state.progress ?? unused(state), activity.reason)
    }
  }

  private func unused(_ state: borrowing State) -> DeviceStatus.Power {
    state.isSupplied ? state.rest.isAwake ? .awake : .asleep : .off
  }

  /// Adds the time and the energy since the last call.
  private func updateEnergy(_ state: inout State) {
    let charge = state.energy.goOn(until: clock.now, state.use, drawing: stated(state))
    if let charge { state.usageHistory.charge(charge) }
    state.status.take(state.energy)
  }

  private func stated(_ state: borrowing State) -> Double {
    switch state.use {
    case .starting, .measuring: state.power.milliwatts
    case .waitingForMotion(let milliamperes): milliamperes * state.power.supplyVolts
    case .resting: restMilliwatts(state)
    }
  }

  /// The power without holders, milliwatts.
  private func restMilliwatts(_ state: borrowing State) -> Double {
    state.rest.milliwatts(state.power, isSupplied: state.isSupplied)
  }

  /// The power at work. The present power differs: it is 0 when the device is off, and varies while it works.
  private func workingMilliwatts(_ state: borrowing State) -> Double {
    state.energy.workingMilliwatts ?? state.power.milliwatts
  }

  private func costs(_ state: borrowing State) -> LearnedIdleTimeout.Costs {
    let watts = max(0, workingMilliwatts(state) - restMilliwatts(state)) / 1000
    // A receiver without any data takes half a minute; a chip answers as soon as it has settled.
    let seconds = isReceiver ? 30 : 0.1
    return LearnedIdleTimeout.Costs(watts: watts, assumedJoules: watts * (seconds + state.power.settleTime.inSeconds))
  }
}

extension DeviceMonitor: IdleTimeoutPolicy {
  public func firstCame(_ holder: Holder, at now: MonotonicInstant) {
    state.withLock { state in
      if holder.purpose == .schedule { return state.usage.forgetGap() }
      let costs = costs(state)
      state.usageHistory.learn(from: state.usage.came(at: now, costs))
    }
  }

  public func lastLeft(_ holder: Holder, at now: MonotonicInstant) -> IdleTimeout {
    state.withLock { state in
      let grounds = idleTimeoutGrounds(state)
      let idleTimeout = state.idleTimeout.left(
        at: now, isScheduled: holder.purpose == .schedule, by: grounds, &state.usage)
      return state.ending.map { IdleTimeout(.zero, reason: $0) } ?? idleTimeout
    }
  }

  /// The end of the minimum time off. If there is a switch, the time counts from when the supply was switched off, no
  /// matter which device it was on for.
  public func offEnd(_ usual: MonotonicInstant?) -> MonotonicInstant? {
    rail.switch == .none ? usual : rail.offEnd(timing.minimumOff)
  }

  public func reconsidered(at now: MonotonicInstant) -> IdleTimeout? {
    state.withLock { state in
      let grounds = idleTimeoutGrounds(state)
      return state.idleTimeout.reconsidered(at: now, by: grounds, &state.usage)
    }
  }

  private func idleTimeoutGrounds(_ state: borrowing State) -> DeviceIdleTimeout.Grounds {
    DeviceIdleTimeout.Grounds(
      policy: state.policy, learned: state.usageHistory.learned, costs: costs(state), requiredSince: state.requiredSince
    )
  }
}

/// Counts the holders of a reader's run, or of its attempts, as holders of the device.
extension DeviceMonitor: HolderObserver {
  public func came(_ holders: [Holder]) {
    changeHolders { state in
      for holder in holders where state.holders.insert(holder) { state.shares.add(holder) }
    }
  }

  public func left(_ holders: [Holder]) {
    changeHolders { state in
      for holder in holders where state.holders.remove(holder) { state.shares.remove(holder) }
    }
  }
}

/// Reports the holders for which a device waits for motion to the device's monitor.
struct MotionHolders: HolderObserver {
  let monitor: DeviceMonitor

  func came(_ holders: [Holder]) {
    monitor.changeHolders { state in for holder in holders { state.waitingShares.add(holder) } }
  }

  func left(_ holders: [Holder]) {
    monitor.changeHolders { state in for holder in holders { state.waitingShares.remove(holder) } }
  }
}
