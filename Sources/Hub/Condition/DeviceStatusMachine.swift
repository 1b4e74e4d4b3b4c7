import MonotonicTime
import Publishing

/// Decides the power state of one device, with its reason and its warning, from the reports of its reader, its publisher
/// and its supply.
///
/// The methods take reports. After each report, `update` returns the status to deliver. The lock, the clock and the
/// property belong to `DeviceMonitor`, which also adds the energy and the holders to the status.
struct DeviceStatusMachine: Sendable {
  /// The present or last run of the reader.
  private struct Run {
    /// When the reader began to require the supply; `nil` while it does not.
    var requiredSince: MonotonicInstant?
    var progress: DeviceStatus.Power?
    /// Whether the device has started, which counts as a wake.
    var hasWoken = false
    var hasTracked = false
  }

  private struct Supply {
    /// Whether the supply is on for another reason than the device's reader: the supply has no switch, was left on, or
    /// is on for another device or for the device's sleep.
    var isOn: Bool
    /// The other devices that keep the supply on.
    var others: [String] = []
    /// Whether the supply is on for the device's sleep.
    var isForSleep = false
    /// Why the supply is still on, if it could not be switched off.
    var problem: String?
  }

  /// The status without energy and holders.
  private var status: DeviceStatus
  /// The status that was delivered last.
  private var delivered: DeviceStatus
  private let hasSwitch: Bool
  private var run = Run()
  private var supply: Supply
  private var activity: SourceActivity?
  /// The current while the device waits for motion without other holders; `nil` while it does not wait.
  private var waitingMilliamperes: Double?
  private var warnings = DeviceWarnings()
  private var warningSince: MonotonicInstant
  /// The alarms that the device reports.
  private var alarms: [DeviceAlarm: String] = [:]
  /// Whether it is still unknown if the battery that the device measures is low.
  private var isBatteryUndecided = false

  /// - Parameters:
  ///   - hasSwitch: whether the device's supply can be switched off
  ///   - isSupplied: whether its supply is on
  init(
    id: String, kind: DeviceStatus.Kind, title: String, hasSwitch: Bool, isSupplied: Bool, at now: MonotonicInstant
  ) {
    status = DeviceStatus(
      id: id, kind: kind, title: title, power: isSupplied ? .asleep : .off, since: now, reason: "no subscriber yet",
      holders: [], onTime: .zero, wakes: 0, energyMilliwattHours: 0, timeToFirstFix: nil, counters: [])
    delivered = status
    self.hasSwitch = hasSwitch
    supply = Supply(isOn: isSupplied)
    warningSince = now
  }

  // MARK: Reports

  /// Records that the supply is on for the device, which must settle.
  mutating func required(at now: MonotonicInstant) {
    run = Run(requiredSince: now, progress: .settling)
  }

  /// Records that the device has started: a chip has answered, or a receiver's line is open. A run counts as one wake,
  /// and an attempt to start a missing device as none.
  mutating func woke() {
    guard run.requiredSince != nil, !run.hasWoken else { return }
    run.hasWoken = true
    status.wakes += 1
  }

  /// Records that the device answers, but has no useful value yet.
  mutating func acquiring() { run.progress = .acquiring }

  /// Records that the device measures.
  ///
  /// - Returns: whether this ends the start of a run
  mutating func tracking(at now: MonotonicInstant) -> Bool {
    guard run.progress != .tracking else { return false }
    woke()
    defer { (run.hasTracked, run.progress) = (true, .tracking) }
    guard !run.hasTracked, let since = run.requiredSince else { return false }
    status.timeToFirstFix = now - since
    return true
  }

  /// Records that the device needs no supply any more.
  ///
  /// - Returns: whether this ends a run; `false` for a second call
  mutating func released() -> Bool {
    run.progress = nil
    defer { run.requiredSince = nil }
    return run.requiredSince != nil
  }

  /// Handles a change of the supply.
  mutating func take(_ supply: PowerRail.Supply) {
    let others = (supply.users + supply.sleepers).filter { $0 != status.id }
    let isForSleep = supply.sleepers.contains(status.id)
    // If this device is the only user, its reader reports the use. The supply is then not on for another reason.
    let isLeftOn = supply.users.isEmpty
    self.supply = Supply(
      isOn: supply.isOn && (!hasSwitch || isLeftOn || !others.isEmpty || isForSleep), others: others,
      isForSleep: isForSleep,
      // The problem counts only if the supply counts as on. A supply whose line has never existed counts as off.
      problem: supply.isOn ? supply.problem.map { "its supply could not be switched off: \($0)" } : nil)
  }

  /// Stores the activity of the device's lazy publisher.
  mutating func take(_ activity: SourceActivity) { self.activity = activity }

  /// Sets the current while the device waits for motion without other holders; `nil` if it stops waiting.
  mutating func waitsForMotion(milliamperes: Double?) { waitingMilliamperes = milliamperes }

  /// Sets a warning for the owner, or ends it with `nil`.
  mutating func setWarning(about subject: DeviceWarnings.Subject, _ text: String?) { warnings[subject] = text }

  /// Sets an alarm, or ends it with `nil`.
  mutating func setAlarm(_ alarm: DeviceAlarm, _ text: String?) { alarms[alarm] = text }

  /// Sets whether it is still unknown if the battery that the device measures is low.
  mutating func setBatteryUndecided(_ isUndecided: Bool) { isBatteryUndecided = isUndecided }

  /// Continues the count of wakes of the device's predecessor.
  mutating func open(wakes: Int) { (status.wakes, delivered.wakes) = (wakes, wakes) }

  /// Makes the stored times earlier by the duration of a suspension.
  mutating func goBack(by slept: Duration) {
    status.since.moveBack(by: slept)
    warningSince.moveBack(by: slept)
  }

  // MARK: Status

  /// Determines the status from the reports.
  ///
  /// - Parameter isAwake: whether the device failed to fall asleep
  /// - Returns: the status to deliver; `nil` if it has not changed
  mutating func update(at now: MonotonicInstant, isAwake: Bool) -> DeviceStatus? {
    (status.power, status.reason) = present(isAwake: isAwake)
    if status.power != delivered.power { status.since = now }
    status.lingersUntil = status.power == .lingering ? activity?.until : nil
    status.warning = supply.problem ?? warnings.text
    status.hasFinding = warnings[.finding] != nil
    status.isSupplyStuck = supply.problem != nil
    if status.warning != delivered.warning { warningSince = now }
    if status == delivered { return nil }
    delivered = status
    return status
  }

  private func present(isAwake: Bool) -> (DeviceStatus.Power, String) {
    let unused: DeviceStatus.Power = supply.isOn ? isAwake ? .awake : .asleep : .off
    guard let activity else { return (run.progress ?? unused, status.reason) }
    switch activity.phase {
    case .failed: return (.failed, activity.reason)
    case .idle where waitingMilliamperes != nil: return (unused, "it waits for motion")
    case .lingering where run.progress != nil: return (.lingering, activity.reason)
    case .idle where supply.isOn && !supply.others.isEmpty && !supply.isForSleep:
      return (unused, "supplied for \(supply.others.joined(separator: " and "))")
    case .idle: return (unused, activity.reason)
    // While it stops, the device keeps its previous state.
    case .stopping where run.progress != nil: return (status.power, status.reason)
    case .running where run.progress == .tracking: return (.tracking, "it measures")
    case .running where run.progress == .acquiring: return (.acquiring, acquiringReason)
    // The reader has ended its run by itself, and the publisher is about to say why, for example with a failure.
    case .running where run.progress == nil: return (unused, "its run has ended")
    case .starting, .running, .lingering, .stopping: return (run.progress ?? unused, activity.reason)
    }
  }

  private var acquiringReason: String {
    if status.kind == .receiver { return run.hasTracked ? "it has lost its fix" : "no fix yet" }
    return run.hasTracked ? "no valid measurements any more" : "no valid measurements yet"
  }

  /// The present status without energy and holders.
  ///
  /// - Parameter budget: the state of the budget. A sleeping device gets no updates, but its budget grows with each hour
  func status(with budget: BudgetReport?) -> DeviceStatus {
    var status = self.status
    guard let budget else { return status }
    var warnings = self.warnings
    warnings[.budget] = budget.warning
    (status.budget, status.warning) = (budget, supply.problem ?? warnings.text)
    return status
  }

  /// The power state of the last update.
  var power: DeviceStatus.Power { status.power }

  var wakes: Int { status.wakes }

  /// Whether the device has started in the present or last run.
  var hasWoken: Bool { run.hasWoken }

  /// When the reader began to require the supply; `nil` while it does not.
  var requiredSince: MonotonicInstant? { run.requiredSince }

  /// Whether the supply is on for another reason than the device's reader.
  var isSupplied: Bool { supply.isOn }

  /// Why the supply is still on, if it could not be switched off.
  var switchProblem: String? { supply.problem }

  /// Whether the device's publisher has subscribers.
  var isSubscribed: Bool { activity.map { $0.subscriberCount > 0 } ?? false }

  /// The present use of the device, by which its energy is charged.
  var use: EnergyTotals.Use {
    if run.requiredSince != nil { return run.hasTracked ? .measuring : .starting }
    return waitingMilliamperes.map { .waitingForMotion(milliamperes: $0) } ?? .resting
  }

  /// The problems, the worst first.
  ///
  /// - Parameter health: whether the device works
  func conditions(_ health: DeviceCondition?) -> [DeviceCondition] {
    var conditions = [health].compactMap { $0 }
    if let problem = supply.problem {
      conditions.append(DeviceCondition(.supply, .problem, problem, since: warningSince))
    }
    if let warning = warnings.text {
      conditions.append(DeviceCondition(.warning, .warning, warning, since: warningSince))
    }
    return conditions.sorted { $0.severity > $1.severity }
  }

  /// - Parameter health: whether the device works
  func alarms(_ health: DeviceCondition?) -> DeviceAlarms {
    DeviceAlarms(
      reported: alarms, failure: health.flatMap { $0.kind == .failed ? $0 : nil }, lineProblem: supply.problem,
      isMeasuring: status.power == .tracking, isHeard: status.power == .tracking || status.power == .acquiring,
      isSupplyKnown: status.power == .tracking && !isBatteryUndecided)
  }
}
