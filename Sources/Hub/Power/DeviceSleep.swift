import Devices
import MonotonicTime

/// The kind of rest of a device between its runs, and its power during the rest.
///
/// Most devices always rest in the same way. For a receiver whose sleep is `auto`, the mode is chosen each time
/// (`SleepChoice`). The supply of a sleeping receiver is switched off when a rest becomes too long for its sleep mode.
struct DeviceSleep: Sendable {
  /// The longest time until the supply is switched off, a year. If the computed time is longer, the supply stays on.
  private static let longestTimer = 365.0 * 86_400

  /// The choice for the last rest, if there was one.
  private(set) var choice: SleepChoice?
  /// The supply voltage for which `choice` was computed. Its rest power is scaled to the present voltage.
  private var choiceVolts = 0.0
  /// The sleep mode of the present or last rest, if modes are chosen; `nil` before the first.
  private(set) var sleep: ReceiverSleep?
  /// Whether the device failed to fall asleep after its last run.
  private(set) var isAwake = false

  /// Chooses the sleep mode from now on.
  ///
  /// - Parameters:
  ///   - driver: the receiver's driver, if known
  ///   - workingMilliwatts: the receiver's power while it works
  ///   - starts: the costs of starts after each kind of rest
  /// - Returns: the sleep mode, in which the supply stays on; `nil` for none
  mutating func choose(
    for pause: SleepChoice.Pause, of driver: ReceiverDriver, _ power: Board.Power, workingMilliwatts: Double,
    learnt starts: [ReceiverSleep: RestartCosts]
  ) -> ReceiverSleep? {
    let ways = SleepChoice.ways(of: driver, power, watts: workingMilliwatts / 1000, learnt: starts)
    let choice = SleepChoice(ways, for: pause)
    (self.choice, choiceVolts) = (choice, power.supplyVolts)
    return choice.chosen.flatMap { $0.sleep == .off ? nil : $0.sleep }
  }

  /// Records how the device rests after its run.
  ///
  /// - Parameters:
  ///   - isAsleep: whether it was put to sleep; `false` if this failed
  ///   - sleep: the sleep mode, in which the supply stays on; `nil` if the device has no such mode
  mutating func began(isAsleep: Bool, as sleep: ReceiverSleep?, _ power: Board.Power) {
    isAwake = !isAsleep
    if power.choosesSleep { self.sleep = isAsleep ? sleep : .off }
  }

  /// Records that the supply is off. The device's sleep mode is over: if other devices switch the supply on, the device
  /// works.
  mutating func lostSupply() {
    if sleep != nil { (sleep, isAwake) = (.off, true) }
  }

  /// The power that the device draws while no client holds it.
  func milliwatts(_ power: Board.Power, isSupplied: Bool) -> Double {
    guard isSupplied else { return 0 }
    if isAwake { return power.milliwatts }
    guard let sleep, let way = choice?.ways.first(where: { $0.sleep == sleep }), sleep != .off else {
      return power.standbyMilliwatts
    }
    return choiceVolts > 0 ? 1000 * way.restWatts * power.supplyVolts / choiceVolts : 0
  }

  /// The duration of a rest after which the supply is switched off; `nil` if it stays on.
  var supplyEndsAfter: Duration? {
    guard let seconds = choice?.secondsUntilOff, seconds < DeviceSleep.longestTimer else { return nil }
    return .nanoseconds(Int64(seconds * 1e9))
  }
}
