import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Keeps the books of one device: its power state and its holders, its time on and its energy.
///
/// It works only when something changes: a device that sleeps, or goes on tracking, causes no work here.
public final class DeviceMonitor: Sendable {
  private struct CounterSource {
    let read: @Sendable () -> [DeviceStatus.Counter]
  }

  /// What is done about a device that rests.
  fileprivate struct RestAction {
    var at: MonotonicInstant
    let perform: Callback
  }

  fileprivate struct State {
    /// Its on-time and energy are those of the account.
    var status: DeviceStatus
    var account: EnergyAccount
    /// Since when its reader has required the supply, if it does.
    var requiredSince: MonotonicInstant?
    /// Whether the supply is on, for any device.
    var isSupplied: Bool
    /// The others for which it is.
    var others: [String] = []
    /// How far the reader has got in this run.
    var progress: DeviceStatus.Power?
    var hasTracked = false
    var remarks = DeviceRemarks()
    /// Since when the present remark stands.
    var remarkSince: MonotonicInstant
    /// What it reports that people must be told of at once.
    var alarms: [DeviceAlarm: String] = [:]
    var switchProblem: String?
    var activity: Activity?
    /// For whom it is held, between two tries of its reader as well.
    var holders = HolderSet()
    var shares = PayerShares()
    /// Of those for whom it waits for motion.
    var waitingShares = PayerShares()
    /// Its power while it waits for motion without other holders; `nil` while it does not wait.
    var waitingMilliamperes: Double?
    var lessons = PowerLessons()
    var linger = DeviceLinger()
    /// The reason why it does not linger any more: it is about to be switched off permanently.
    var ending: String?
    var book: PowerBook
    /// The counts from before its reader began.
    var before = RunTotals()
    /// As its board file has it at present.
    var power: Board.Power
    /// The number of steps of its budget that are taken.
    var budgetStepCount = 0
    var rest = DeviceRest()
    /// In the order of their instants.
    var restActions: [RestAction] = []
    /// The supply is on for its sleep.
    var sleepsByItself = false

    var policy: PowerPolicy { power.policy }

    var isRequired: Bool { requiredSince != nil }

    var use: EnergyAccount.Use {
      if isRequired { return hasTracked ? .measuring : .starting }
      return waitingMilliamperes == nil ? .resting : .waitingForMotion
    }
  }

  public let id: String
  /// Whether it works, and why not.
  let health: DeviceHealth
  /// Closed while a device of the board before is in its way.
  let startGate = StartGate()
  private let clock: any MonotonicTimeSource
  private let rail: PowerRail
  private let isReceiver: Bool
  private let state: Guarded<State>
  private let property: MutableProperty<DeviceStatus>
  /// Asks the reader for its counts.
  private let counters = Guarded<CounterSource?>(nil)
  private let following = Lifetime()
  /// For the first of the rest actions.
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
    // Until the hub has one.
    let book = PowerBook(of: id, systemTime: { 0 })
    state = Guarded(
      State(
        status: status, account: EnergyAccount(at: now), isSupplied: isSupplied, remarkSince: now, book: book,
        power: power))
    property = MutableProperty(status)
    clock.onResume { [weak self] in self?.resume(after: $0) }.store(in: following)
    rail.supply.subscribe(
      as: "monitor",
      receiveValue: { [weak self] supply in
        self?.change { state in
          state.others = (supply.users + supply.sleepers).filter { $0 != id }
          state.sleepsByItself = supply.sleepers.contains(id)
          // Its own use is told by its reader.
          let isLeftOn = supply.users.isEmpty
          state.isSupplied = supply.isOn && (isAlways || isLeftOn || !state.others.isEmpty || state.sleepsByItself)
          if !supply.isOn { state.rest.lostSupply() }
          // A line that has never been there is not known to be on.
          state.switchProblem = supply.isOn ? supply.problem.map { "its supply could not be switched off: \($0)" } : nil
        }
      }
    ).store(in: following)
  }

  /// The machine was suspended: whatever has lasted since before has lasted longer by that.
  private func resume(after slept: Duration) {
    health.goBack(by: slept)
    change { state in
      state.lessons.goBack(by: slept)
      state.linger.goBack(by: slept)
      state.status.since.moveBack(by: slept)
      state.remarkSince.moveBack(by: slept)
      // Who sleeps counts by a clock of its own.
      for index in state.restActions.indices { state.restActions[index].at.moveBack(by: slept) }
    }
    setRestAlarm()
  }

  /// Changes of the status; its on-time and energy are those at the change.
  public var changes: Property<DeviceStatus> { property.readOnly }

  /// The status as of now. Wakes nothing.
  public var status: DeviceStatus {
    let counters = counters.withLock { $0 }?.read() ?? []
    return state.withLock { state in
      account(&state)
      var status = state.status
      status.holders = state.holders.list.map(\.label)
      status.counters = state.before.adding(to: counters)
      status.milliwatts = state.account.measuredMilliwatts ?? stated(state)
      status.bills = state.account.bills.bills
      status.billsOfDay = state.book.bills(ofLast: 24).bills
      status.billsOfWeek = state.book.bills(ofLast: 7 * 24).bills
      status.linger = linger(state)
      status.budget = budget(state)
      if let budget = status.budget {
        // A device that sleeps is told nothing, and has more with each hour.
        var remarks = state.remarks
        remarks[.budget] = budget.remark
        status.remark = state.switchProblem ?? remarks.text
      }
      status.conditions = conditions(state)
      return status
    }
  }

  /// Its problems, the worst first, and whether a client wants it. It only reads.
  public var trouble: (isWanted: Bool, conditions: [DeviceCondition]) {
    state.withLock { state in
      (!state.holders.list.isEmpty, conditions(state))
    }
  }

  /// Its problems, the worst first.
  private func conditions(_ state: borrowing State) -> [DeviceCondition] {
    var conditions = [health.condition(at: clock.now)].compactMap { $0 }
    if let problem = state.switchProblem {
      conditions.append(DeviceCondition(.supply, .problem, problem, since: state.remarkSince))
    }
    if let remark = state.remarks.text {
      conditions.append(DeviceCondition(.remark, .warning, remark, since: state.remarkSince))
    }
    return conditions.sorted { $0.severity > $1.severity }
  }

  /// What people must be told of, as of now. Costs no more than a look.
  public var alarms: DeviceAlarms {
    state.withLock { state in
      let condition = health.condition(at: clock.now)
      return DeviceAlarms(
        reported: state.alarms, failure: condition.flatMap { $0.kind == .failed ? $0 : nil },
        lineProblem: state.switchProblem, isMeasuring: state.status.power == .tracking,
        isHeard: state.status.power == .tracking || state.status.power == .acquiring)
    }
  }

  /// Reports an alarm, or `nil` that it is over. The remark on the same subject tells those who follow the status.
  func alarm(_ alarm: DeviceAlarm, _ text: String?) { state.withLock { $0.alarms[alarm] = text } }

  /// Keeps the device's lessons and its hours in this book from here on.
  func keep(_ book: PowerBook) { state.withLock { $0.book = book } }

  /// Its owner wishes and states so from here on.
  func follow(_ power: Board.Power) {
    change { state in
      let (old, policy) = (state.policy, power.policy)
      state.power = power
      if !policy.lingersLike(old) { state.linger.isNews = true }
      if policy.budget != old.budget { (state.budgetStepCount, state.remarks[.budget]) = (0, nil) }
    }
  }

  /// Waits until no device of the board before uses the same hardware.
  ///
  /// - Returns: whether the device may start; otherwise its reader was told to stop
  func waitsForGate(_ poller: Poller) -> Bool {
    var isLate = false
    defer { if isLate { remark(on: .predecessor, nil) } }
    return startGate.wait(poller) {
      isLate = true
      remark(
        on: .predecessor,
        "it has not started: a device of the board file before has not stopped and has the same name, port, chip or line"
      )
    }
  }

  /// Closes its books: energy from now on is entered in another one's.
  func close() -> RunTotals {
    let totals = totals
    state.withLock { $0.account.close() }
    return totals
  }

  /// What the device has come to until now.
  var totals: RunTotals {
    let counters = counters.withLock { $0 }?.read() ?? []
    return state.withLock { state in
      account(&state)
      return RunTotals(
        onTime: state.account.onTime, wakes: state.status.wakes, energyMilliwattHours: state.account.milliwattHours,
        measuredMilliwattHours: state.account.measuredMilliwattHours, bills: state.account.bills,
        counters: state.before.totals(with: counters))
    }
  }

  /// Opens its books with the totals of its predecessor, which contain the energy until now.
  func open(with totals: RunTotals) {
    state.withLock { state in
      state.account.open(with: totals, at: clock.now)
      state.before = totals
      state.status.take(state.account)
      state.status.wakes = totals.wakes
    }
  }

  /// Its reader is about to be shut down: after its last holder it neither lingers nor sleeps with its supply on.
  func ends(because reason: String) { state.withLock { $0.ending = reason } }

  /// Whether it will have no holders any more.
  var isEnding: Bool { state.withLock { $0.ending != nil } }

  /// The least times that its supply is on and off.
  var timing: LifecycleTiming { state.withLock { $0.power.timing } }

  /// The start of its rest; `nil` while it works, or if that is unknown.
  var restingSince: MonotonicInstant? { state.withLock { $0.lessons.offSince } }

  /// The next scheduled wake; `nil` if none is known.
  ///
  /// - Returns: whether this is a change
  @discardableResult
  func expectWake(at instant: MonotonicInstant?) -> Bool {
    state.withLock { state in
      defer { state.linger.nextWake = instant }
      return state.linger.nextWake != instant
    }
  }

  /// The knowledge about its power from other runs.
  public var book: PowerBook { state.withLock { $0.book } }

  /// Whether its reader is to read for such a holder.
  func isWanted(by isMeant: (Holder) -> Bool = { _ in true }) -> Bool {
    state.withLock { $0.activity.map { $0.subscriberCount > 0 } == true && $0.holders.contains(where: isMeant) }
  }

  /// Those who pay at present, in the order in which they came.
  var payers: [String] { state.withLock { $0.account.payers?.payers.map(\.name) ?? [] } }

  /// Those who hold it come and leave, or those for whom it waits for motion, and pay from here on.
  fileprivate func changeHolders(_ change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      let (payers, waiting) = (state.shares.payers, state.waitingShares.payers)
      guard state.account.isNews(payers, waiting: waiting) else { return }
      account(&state)
      state.account.charge(payers, waiting: waiting)
    }
  }

  /// Notes that it waits for motion from now on while it has no other holder, and its power for that; `nil` if it stops
  /// waiting.
  func waitsForMotion(milliamperes: Double?) { change { $0.waitingMilliamperes = milliamperes } }

  /// The limits that its budget sets on fixes at present, updated by everything since the last call.
  var relaxation: Relaxation {
    state.withLock { state in
      guard let budget = state.policy.budget else { return .none }
      account(&state)
      takeSteps(&state)
      return budget.relaxation(state.budgetStepCount)
    }
  }

  /// It goes on working, which changes only the limits of its budget.
  func goesOn() { if state.withLock({ $0.policy.budget != nil }) { change { _ in } } }

  private func takeSteps(_ state: inout State) {
    guard let budget = budget(state) else { return }
    state.budgetStepCount = budget.stepCount
    state.remarks[.budget] = budget.remark
  }

  private func budget(_ state: borrowing State) -> BudgetReport? {
    state.policy.budget.map { budget in
      let left = state.book.left(of: budget)
      let count = budget.stepCount(left: left, taken: state.budgetStepCount)
      return BudgetReport(
        milliwattHoursPerDay: budget.milliwattHoursPerDay, leftMilliwattHours: left, stepCount: count,
        steps: budget.steps.count, relaxation: budget.relaxation(count))
    }
  }

  private func linger(_ state: borrowing State) -> LingerReport {
    LingerReport(
      isLearned: state.policy.lingersAsLearned, usual: state.policy.linger, learned: state.book.learned,
      costs: costs(state), acquisitions: state.book.acquisitions, sleep: state.rest.choice)
  }

  func count(with counters: @escaping @Sendable () -> [DeviceStatus.Counter]) {
    self.counters.withLock { $0 = CounterSource(read: counters) }
  }

  /// The supply is on for the device, which has to settle.
  func required() {
    health.required()
    change { state in
      let now = clock.now
      state.requiredSince = now
      state.lessons.required(at: now, state.status.energyMilliwattHours, after: state.rest.sleep)
      state.status.wakes += 1
      state.hasTracked = false
      state.progress = .settling
    }
  }

  /// The device needs no supply any more.
  ///
  /// Said a second time it changes nothing: a reader that was given up for stuck may say so later itself.
  func released() {
    health.released()
    change { state in
      state.progress = nil
      guard state.isRequired else { return }
      state.lessons.released(
        at: clock.now, state.status.energyMilliwattHours, restWatts: restMilliwatts(state) / 1000, state.book)
      state.requiredSince = nil
    }
  }

  /// The device was put to sleep, as far as possible.
  ///
  /// - Parameter sleep: its kind of sleep; `nil` for a device without one with its supply on
  func ended(isAsleep: Bool, as sleep: ReceiverSleep? = nil) {
    change { $0.rest.began(isAsleep: isAsleep, as: sleep, $0.power) }
  }

  /// The kind of rest with its supply on from now on, by forecast and experience; `nil` for none.
  func chooseSleep(of driver: ReceiverDriver) -> ReceiverSleep? {
    state.withLock { state in
      let now = clock.now
      let pause = SleepChoice.Pause(
        untilFix: state.linger.gap(at: now), state.book.learned,
        after: state.lessons.awaySince.map { now.seconds(since: $0) })
      return state.rest.choose(
        for: pause, of: driver, state.power, workingMilliwatts: workingMilliwatts(state), learnt: state.book.starts)
    }
  }

  /// After what rest the supply should be switched off, because that costs less; `nil` if it stays on.
  var supplyEndsAfter: Duration? { state.withLock { $0.rest.supplyEndsAfter } }

  /// Performs an action while the device rests, unless it is wanted before.
  func whileResting(after rest: Duration, _ action: @escaping @Sendable () -> Void) {
    let at = clock.now + rest
    state.withLock { state in
      let index = state.restActions.firstIndex { $0.at > at } ?? state.restActions.endIndex
      state.restActions.insert(RestAction(at: at, perform: Callback(action)), at: index)
    }
    setRestAlarm()
  }

  /// The device is wanted again, or never will be.
  func cancelRestActions() {
    state.withLock { $0.restActions = [] }
    restAlarm.cancel()
  }

  private func setRestAlarm() {
    guard let next = state.withLock({ $0.restActions.first?.at }) else { return }
    restAlarm.set(at: next) { [weak self] in self?.performRestActions() }
  }

  private func performRestActions() {
    let due = state.withLock { state in
      let now = clock.now
      let count = state.restActions.firstIndex { $0.at > now } ?? state.restActions.endIndex
      defer { state.restActions.removeFirst(count) }
      return state.restActions[..<count]
    }
    for action in due { action.perform() }
    setRestAlarm()
  }

  /// The device answers, but has nothing useful to say yet.
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
        state.lessons.tracking(
          at: now, state.status.energyMilliwattHours, restWatts: restMilliwatts(state) / 1000, state.book)
      }
      state.hasTracked = true
      state.progress = .tracking
    }
  }

  /// Says what its owner should know; `nil` that it is over.
  func remark(on subject: DeviceRemarks.Subject, _ text: String?) { change { $0.remarks[subject] = text } }

  /// Why its supply is still on, if that could not be switched off.
  public var switchProblem: String? { state.withLock { $0.switchProblem } }

  /// Whether it is supplied for a holder.
  var isWorking: Bool { state.withLock { $0.status.power.isWorking } }

  /// Its present power by the currents in the board file.
  var statedMilliwatts: Double { state.withLock { stated($0) } }

  /// Its measured power from now on; `nil` if it is not measured. No observer is notified: only the books change.
  func measured(milliwatts: Double?) {
    state.withLock { state in
      account(&state)
      state.account.measuredMilliwatts = milliwatts
    }
  }

  /// Follows the lazy publisher of the device.
  func follow(_ activity: Activity) { change { $0.activity = activity } }

  private func change(_ change: (inout State) -> Void) {
    let mustDeliver = state.withLock { state in
      account(&state)
      let before = state.status
      change(&state)
      takeSteps(&state)
      (state.status.power, state.status.reason) = present(state)
      if state.status.power != before.power { state.status.since = clock.now }
      state.status.lingersUntil = state.status.power == .lingering ? state.activity?.until : nil
      state.status.remark = state.switchProblem ?? state.remarks.text
      state.status.isSupplyStuck = state.switchProblem != nil
      if state.status.remark != before.remark { state.remarkSince = clock.now }
      // Energy alone is no change.
      var unchanged = before
      (unchanged.measuredMilliwattHours, unchanged.energyMilliwattHours) = (
        state.status.measuredMilliwattHours, state.status.energyMilliwattHours
      )
      unchanged.onTime = state.status.onTime
      if state.status == unchanged { return false }
      // Holders alone are no change: a crowd of further holders that come and go moves nothing.
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
    // While it stops, a device is in its previous state.
    case .stopping where state.progress != nil: return (state.status.power, state.status.reason)
    case .running where state.progress == .tracking: return (.tracking, "it measures")
    case .running where state.progress == .acquiring:
      let what = isReceiver ? "no fix from it" : "nothing useful from it"
      return (.acquiring, "\(what) \(state.hasTracked ? "any more" : "yet")")
    case .starting, .running, .lingering, .stopping: return (state.progress ?? unused(state), activity.reason)
    }
  }

  private func unused(_ state: borrowing State) -> DeviceStatus.Power {
    state.isSupplied ? state.rest.isAwake ? .awake : .asleep : .off
  }

  /// Adds up the time and the energy since the last time.
  private func account(_ state: inout State) {
    state.account.goOn(until: clock.now, state.use, drawing: stated(state), state.book)
    state.status.take(state.account)
  }

  private func stated(_ state: borrowing State) -> Double {
    if state.isRequired { return state.power.milliwatts }
    if let waiting = state.waitingMilliamperes { return waiting * state.power.supplyVolts }
    return restMilliwatts(state)
  }

  /// Its power without holders.
  private func restMilliwatts(_ state: borrowing State) -> Double {
    state.rest.milliwatts(state.power, isSupplied: state.isSupplied)
  }

  /// This is not its present power, which is 0 when it is off and varies while it works.
  private func workingMilliwatts(_ state: borrowing State) -> Double {
    state.account.workingMilliwatts ?? state.power.milliwatts
  }

  private func costs(_ state: borrowing State) -> LearnedLinger.Costs {
    let watts = max(0, workingMilliwatts(state) - restMilliwatts(state)) / 1000
    // A receiver that has lost everything takes half a minute; a chip answers as soon as it has settled.
    let seconds = isReceiver ? 30 : 0.1
    return LearnedLinger.Costs(watts: watts, assumedJoules: watts * (seconds + state.power.settleTime.inSeconds))
  }
}

extension DeviceMonitor: LingerPolicy {
  public func firstCame(_ holder: Holder, at now: MonotonicInstant) {
    state.withLock { state in
      if holder.purpose == .schedule { return state.lessons.forgetGap() }
      let costs = costs(state)
      state.lessons.came(at: now, costs, state.book)
    }
  }

  public func lastLeft(_ holder: Holder, at now: MonotonicInstant) -> Linger {
    state.withLock { state in
      let grounds = lingerGrounds(state)
      let linger = state.linger.left(
        at: now, isScheduled: holder.purpose == .schedule, by: grounds, &state.lessons)
      return state.ending.map { Linger(.zero, reason: $0) } ?? linger
    }
  }

  /// Where there is a switch it is the supply that has to rest, whichever device it was on for.
  public func restEnd(_ usual: MonotonicInstant?) -> MonotonicInstant? {
    rail.switch == .none ? usual : rail.restEnd(timing.minimumOff)
  }

  public func reconsidered(at now: MonotonicInstant) -> Linger? {
    state.withLock { state in
      let grounds = lingerGrounds(state)
      return state.linger.reconsidered(at: now, by: grounds, &state.lessons)
    }
  }

  private func lingerGrounds(_ state: borrowing State) -> DeviceLinger.Grounds {
    DeviceLinger.Grounds(
      policy: state.policy, learned: state.book.learned, costs: costs(state), requiredSince: state.requiredSince)
  }
}

/// A holder of a run of its reader, or of its tries, is a holder of the device.
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

/// Tells a device's books for whom it waits for motion.
struct StillnessHolders: HolderObserver {
  let monitor: DeviceMonitor

  func came(_ holders: [Holder]) {
    monitor.changeHolders { state in for holder in holders { state.waitingShares.add(holder) } }
  }

  func left(_ holders: [Holder]) {
    monitor.changeHolders { state in for holder in holders { state.waitingShares.remove(holder) } }
  }
}
