import Devices
import MonotonicTime
import Publishing

/// Decides when a device rests after its last client, and how. The policy measures the costs of the device's starts and
/// the gaps between the device's clients.
///
/// The methods take an event, and return the decision, or an event from which the usage history learns. The lock, the
/// clock, the supply and the usage history belong to `DeviceMonitor`.
struct IdlePolicy: Sendable {
  /// The power settings that the board file has at present.
  private(set) var power: Board.Power
  /// Why the device is about to be switched off permanently; `nil` if it is not. With a reason, the device has no idle
  /// timeout.
  var ending: String?
  private let isReceiver: Bool
  private var timeout = DeviceIdleTimeout()
  private var usage = UsageRecorder()
  private var rest = DeviceSleep()

  init(_ power: Board.Power, isReceiver: Bool) {
    self.power = power
    self.isReceiver = isReceiver
  }

  /// Makes the stored times earlier by the duration of a suspension.
  mutating func goBack(by slept: Duration) {
    usage.goBack(by: slept)
    timeout.goBack(by: slept)
  }

  /// Applies a board file's power settings from now on.
  mutating func follow(_ power: Board.Power) {
    if !power.policy.hasIdleTimeoutLike(self.power.policy) { timeout.isNews = true }
    self.power = power
  }

  // MARK: Power

  /// The power according to the currents in the board file, milliwatts.
  func statedMilliwatts(_ use: EnergyTotals.Use, isSupplied: Bool) -> Double {
    switch use {
    case .starting, .measuring: power.milliwatts
    case .waitingForMotion(let milliamperes): milliamperes * power.supplyVolts
    case .resting: restMilliwatts(isSupplied: isSupplied)
    }
  }

  /// The power without holders, milliwatts.
  private func restMilliwatts(isSupplied: Bool) -> Double { rest.milliwatts(power, isSupplied: isSupplied) }

  /// The power at work. The present power differs: it is 0 when the device is off, and varies while it works.
  ///
  /// - Parameter measured: the measured power at work, if known
  private func workingMilliwatts(_ measured: Double?) -> Double { measured ?? power.milliwatts }

  /// - Parameter measured: the measured power at work, milliwatts, if known
  func costs(measured: Double?, isSupplied: Bool) -> LearnedIdleTimeout.Costs {
    let watts = max(0, workingMilliwatts(measured) - restMilliwatts(isSupplied: isSupplied)) / 1000
    // A receiver without any data takes half a minute to its first fix; a chip answers as soon as it has settled.
    let seconds = isReceiver ? 30 : 0.1
    return LearnedIdleTimeout.Costs(watts: watts, assumedJoules: watts * (seconds + power.settleTime.inSeconds))
  }

  // MARK: Runs

  /// The start of the rest; `nil` while the device works, or if unknown.
  var restingSince: MonotonicInstant? { usage.offSince }

  /// Whether the device failed to fall asleep after its last run.
  var isAwake: Bool { rest.isAwake }

  /// Records that the device has rested since an instant before this run of the hub.
  mutating func rested(since instant: MonotonicInstant) { usage.rested(since: instant) }

  /// Records that the supply is on for the device.
  mutating func required(at now: MonotonicInstant, _ milliwattHours: Double) {
    usage.required(at: now, milliwattHours, after: rest.sleep)
  }

  /// Records the first measurement of a run.
  mutating func tracking(at now: MonotonicInstant, _ milliwattHours: Double, isSupplied: Bool) -> UsageEvent? {
    usage.tracking(at: now, milliwattHours, restWatts: restMilliwatts(isSupplied: isSupplied) / 1000)
  }

  mutating func released(at now: MonotonicInstant, _ milliwattHours: Double, isSupplied: Bool) -> UsageEvent? {
    usage.released(at: now, milliwattHours, restWatts: restMilliwatts(isSupplied: isSupplied) / 1000)
  }

  /// Records that the device needs no supply any more, and did not start although it had its supply.
  mutating func abandoned(at now: MonotonicInstant) { usage.abandoned(at: now) }

  // MARK: Sleep

  /// The duration of a rest after which switching the supply off costs less; `nil` if the supply stays on.
  var supplyEndsAfter: Duration? { rest.supplyEndsAfter }

  /// Chooses the mode in which a receiver sleeps with its supply on; `nil` for none.
  ///
  /// - Parameters:
  ///   - measured: the measured power at work, milliwatts, if known
  ///   - starts: the costs of starts after each kind of rest
  mutating func chooseSleep(
    of driver: ReceiverDriver, at now: MonotonicInstant, measured: Double?, _ learned: LearnedIdleTimeout,
    starts: [ReceiverSleep: RestartCosts]
  ) -> ReceiverSleep? {
    let pause = SleepChoice.Pause(
      untilWake: timeout.gap(at: now), learned, after: usage.awaySince.map { now.seconds(since: $0) })
    return rest.choose(
      for: pause, of: driver, power, workingMilliwatts: workingMilliwatts(measured), learnt: starts)
  }

  /// Records how the device rests after its run.
  ///
  /// - Parameters: see `DeviceSleep.began`
  mutating func ended(isAsleep: Bool, as sleep: ReceiverSleep?) { rest.began(isAsleep: isAsleep, as: sleep, power) }

  /// Records that the supply is off.
  mutating func lostSupply() { rest.lostSupply() }

  // MARK: Idle timeout

  /// The present facts for the idle timeout.
  ///
  /// - Parameter requiredSince: when the device's reader began to require the supply; `nil` while it does not
  func grounds(
    _ learned: LearnedIdleTimeout, _ costs: LearnedIdleTimeout.Costs, requiredSince: MonotonicInstant?
  ) -> DeviceIdleTimeout.Grounds {
    DeviceIdleTimeout.Grounds(policy: power.policy, learned: learned, costs: costs, requiredSince: requiredSince)
  }

  /// Sets the next scheduled wake; `nil` if none is known.
  ///
  /// - Returns: whether this is a change
  mutating func expectWake(at instant: MonotonicInstant?) -> Bool {
    defer { timeout.nextWake = instant }
    return timeout.nextWake != instant
  }

  /// Records that the first client came to a device that had none.
  mutating func firstCame(
    _ holder: Holder, at now: MonotonicInstant, _ costs: LearnedIdleTimeout.Costs
  ) -> UsageEvent? {
    if holder.purpose == .schedule {
      usage.forgetGap()
      return nil
    }
    return usage.came(at: now, costs)
  }

  /// Records that the last client leaves the device.
  ///
  /// - Returns: the idle timeout
  mutating func lastLeft(
    _ holder: Holder, at now: MonotonicInstant, by grounds: DeviceIdleTimeout.Grounds
  ) -> IdleTimeout {
    let idleTimeout = timeout.left(at: now, isScheduled: holder.purpose == .schedule, by: grounds, &usage)
    return ending.map { IdleTimeout(.zero, reason: $0) } ?? idleTimeout
  }

  /// - Returns: the idle timeout from now on; `nil` if it does not change
  mutating func reconsidered(at now: MonotonicInstant, by grounds: DeviceIdleTimeout.Grounds) -> IdleTimeout? {
    timeout.reconsidered(at: now, by: grounds, &usage)
  }

  func report(
    _ learned: LearnedIdleTimeout, _ costs: LearnedIdleTimeout.Costs, _ acquisitions: AcquisitionTimes
  ) -> IdleTimeoutReport {
    IdleTimeoutReport(
      isLearned: power.learnsIdleTimeout, usual: power.timing.idleTimeout, learned: learned, costs: costs,
      acquisitions: acquisitions, sleep: rest.choice)
  }
}
