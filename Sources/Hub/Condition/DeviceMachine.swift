import Devices
import MonotonicTime
import Publishing

/// Combines the decisions about one device: its status, its energy and its rests. It gives each part the facts that it
/// needs from the others.
///
/// The methods take reports, and return the energy and the events for the usage history. The lock, the clock and the
/// usage history belong to `DeviceMonitor`. `DeviceMonitor` calls `goOn` before every other change, so that energy is
/// counted under the conditions in which it was used.
struct DeviceMachine: Sendable {
  var status: DeviceStatusMachine
  var energy: EnergyTotals
  var idle: IdlePolicy
  private(set) var holders = DeviceHolders()
  /// The number of budget steps that apply.
  private var budgetStepCount = 0

  init(_ status: DeviceStatusMachine, _ power: Board.Power, isReceiver: Bool, at now: MonotonicInstant) {
    self.status = status
    energy = EnergyTotals(at: now)
    idle = IdlePolicy(power, isReceiver: isReceiver)
  }

  /// Makes the stored times earlier by the duration of a suspension, so that durations include the suspension.
  mutating func goBack(by slept: Duration) {
    status.goBack(by: slept)
    idle.goBack(by: slept)
  }

  /// Handles a change of the supply.
  mutating func take(_ supply: PowerRail.Supply) {
    status.take(supply)
    if !supply.isOn { idle.lostSupply() }
  }

  // MARK: Status

  /// Determines the status from the reports.
  ///
  /// - Returns: the status to deliver; `nil` if it has not changed. A change of energy or holders alone does not count,
  ///   so that holders that come and go at a high rate cause no notifications
  mutating func update(at now: MonotonicInstant) -> DeviceStatus? {
    guard var status = status.update(at: now, isAwake: idle.isAwake) else { return nil }
    addEnergyAndHolders(to: &status)
    return status
  }

  /// The present status, without the records of the usage history.
  ///
  /// - Parameters:
  ///   - left: the remaining energy of the budget, if there is one
  ///   - counters: the present counters, without the predecessor's counts
  ///   - health: whether the device works
  func present(left: Double?, _ counters: [DeviceStatus.Counter], _ health: DeviceCondition?) -> DeviceStatus {
    var status = status.status(with: budget(left: left))
    addEnergyAndHolders(to: &status)
    status.counters = energy.counters(counters)
    status.milliwatts = energy.measuredMilliwatts ?? statedMilliwatts
    status.energyByClient = energy.energyByClient.clients
    status.conditions = self.status.conditions(health)
    return status
  }

  private func addEnergyAndHolders(to status: inout DeviceStatus) {
    status.take(energy)
    status.setHolders(holders.list)
  }

  // MARK: Runs

  /// Records that the supply is on for the device, which must settle.
  mutating func required(at now: MonotonicInstant) {
    status.required(at: now)
    idle.required(at: now, energy.milliwattHours)
  }

  /// Records that the device measures.
  mutating func tracking(at now: MonotonicInstant) -> UsageEvent? {
    guard status.tracking(at: now) else { return nil }
    return idle.tracking(at: now, energy.milliwattHours, isSupplied: status.isSupplied)
  }

  /// Records that the device needs no supply any more. A second call changes nothing.
  mutating func released(at now: MonotonicInstant) -> UsageEvent? {
    guard status.released() else { return nil }
    guard status.hasWoken else {
      idle.abandoned(at: now)
      return nil
    }
    return idle.released(at: now, energy.milliwattHours, isSupplied: status.isSupplied)
  }

  // MARK: Energy

  /// The power by the currents in the board file, milliwatts.
  var statedMilliwatts: Double { idle.statedMilliwatts(status.use, isSupplied: status.isSupplied) }

  /// Adds the time and the energy since the last call.
  ///
  /// - Returns: the energy for the usage history; `nil` for none
  mutating func goOn(until now: MonotonicInstant) -> EnergyCharge? {
    let (use, milliwatts) = (status.use, statedMilliwatts)
    return energy.goOn(until: now, use, drawing: milliwatts)
  }

  /// Changes the holders of the device, or the holders for which it waits for motion. From now on, energy is charged
  /// to the new holders.
  ///
  /// - Returns: the energy of the previous holders for the usage history; `nil` for none
  mutating func changeHolders(at now: MonotonicInstant, _ change: (inout DeviceHolders) -> Void) -> EnergyCharge? {
    change(&holders)
    let (payers, waiting) = (holders.payers, holders.waitingPayers)
    guard energy.isNews(payers, waiting: waiting) else { return nil }
    defer { energy.charge(payers, waiting: waiting) }
    return goOn(until: now)
  }

  func totals(_ counters: [DeviceStatus.Counter]) -> RunTotals { energy.totals(wakes: status.wakes, counters) }

  /// Continues the totals of the device's predecessor.
  mutating func open(with totals: RunTotals, at now: MonotonicInstant) {
    energy.open(with: totals, at: now)
    status.open(wakes: totals.wakes)
  }

  // MARK: Budget

  /// The daily energy budget; `nil` for no limit.
  var budget: EnergyBudget? { idle.power.budget }

  private func budget(left: Double?) -> BudgetReport? {
    guard let budget, let left else { return nil }
    return budget.report(left: left, taken: budgetStepCount)
  }

  /// Takes the steps that the remaining energy of the budget demands, and sets the warning.
  ///
  /// - Parameter left: the remaining energy, milliwatt-hours; `nil` without a budget
  mutating func takeSteps(left: Double?) {
    guard let report = budget(left: left) else { return }
    budgetStepCount = report.stepCount
    status.setWarning(about: .budget, report.warning)
  }

  /// The limits of the steps that apply.
  var degradation: Degradation { budget?.degradation(budgetStepCount) ?? .none }

  /// Applies a board file's power settings from now on.
  mutating func follow(_ power: Board.Power) {
    let isOtherBudget = power.budget != budget
    idle.follow(power)
    guard isOtherBudget else { return }
    budgetStepCount = 0
    status.setWarning(about: .budget, nil)
  }

  // MARK: Rest

  /// The present costs of staying on and of a start.
  var costs: LearnedIdleTimeout.Costs {
    idle.costs(measured: energy.workingMilliwatts, isSupplied: status.isSupplied)
  }

  /// Chooses the mode in which a receiver sleeps with its supply on; `nil` for none.
  ///
  /// - Parameter starts: the costs of starts after each kind of rest
  mutating func chooseSleep(
    of driver: ReceiverDriver, at now: MonotonicInstant, _ learned: LearnedIdleTimeout,
    starts: [ReceiverSleep: RestartCosts]
  ) -> ReceiverSleep? {
    idle.chooseSleep(of: driver, at: now, measured: energy.workingMilliwatts, learned, starts: starts)
  }

  mutating func firstCame(_ holder: Holder, at now: MonotonicInstant) -> UsageEvent? {
    idle.firstCame(holder, at: now, costs)
  }

  mutating func lastLeft(_ holder: Holder, at now: MonotonicInstant, _ learned: LearnedIdleTimeout) -> IdleTimeout {
    idle.lastLeft(holder, at: now, by: grounds(learned))
  }

  mutating func reconsidered(at now: MonotonicInstant, _ learned: LearnedIdleTimeout) -> IdleTimeout? {
    idle.reconsidered(at: now, by: grounds(learned))
  }

  private func grounds(_ learned: LearnedIdleTimeout) -> DeviceIdleTimeout.Grounds {
    idle.grounds(learned, costs, requiredSince: status.requiredSince)
  }
}
