import Devices
import MonotonicTime

/// A device's kind of rest between its runs, and its power during the rest.
///
/// Most devices always rest in the same way. For a receiver whose sleep is `auto` it is chosen each time
/// (`SleepChoice`), and the supply of a sleeping receiver is switched off when the rest lasts longer than sleep pays.
struct DeviceRest: Sendable {
  /// A rest of a year because of an error in these figures does no harm.
  private static let longestTimer = 365.0 * 86_400

  /// The choice for the last rest, if there was one.
  private(set) var choice: SleepChoice?
  /// The supply for which that counts.
  private var choiceVolts = 0.0
  /// Its present or last kind of rest, if that is chosen; `nil` before the first.
  private(set) var sleep: ReceiverSleep?
  /// It should have fallen asleep after its last run, and has not.
  private(set) var isAwake = false

  /// Chooses its kind of rest from now on.
  ///
  /// - Parameters:
  ///   - driver: of the receiver, if it is known
  ///   - workingMilliwatts: its power while it works
  ///   - starts: the costs of starts after each kind of rest
  /// - Returns: its kind of sleep with its supply on; `nil` for none
  mutating func choose(
    for pause: SleepChoice.Pause, of driver: ReceiverDriver, _ power: Board.Power, workingMilliwatts: Double,
    learnt starts: [ReceiverSleep: RestartCosts]
  ) -> ReceiverSleep? {
    let ways = SleepChoice.ways(of: driver, power, watts: workingMilliwatts / 1000, learnt: starts)
    let choice = SleepChoice(ways, for: pause)
    (self.choice, choiceVolts) = (choice, power.supplyVolts)
    return choice.chosen.flatMap { $0.sleep == .off ? nil : $0.sleep }
  }

  /// It was put to sleep, as far as possible.
  ///
  /// - Parameter sleep: its kind of sleep; `nil` for a device without one with its supply on
  mutating func began(isAsleep: Bool, as sleep: ReceiverSleep?, _ power: Board.Power) {
    isAwake = !isAsleep
    if power.choosesSleep { self.sleep = isAsleep ? sleep : .off }
  }

  /// Its supply is off. However it rested, it does not any more: should the supply be switched on for others, it works.
  mutating func lostSupply() {
    if sleep != nil { (sleep, isAwake) = (.off, true) }
  }

  /// Its power without holders.
  func milliwatts(_ power: Board.Power, isSupplied: Bool) -> Double {
    guard isSupplied else { return 0 }
    if isAwake { return power.milliwatts }
    guard let sleep, let way = choice?.ways.first(where: { $0.sleep == sleep }), sleep != .off else {
      return power.standbyMilliwatts
    }
    return choiceVolts > 0 ? 1000 * way.restWatts * power.supplyVolts / choiceVolts : 0
  }

  /// The duration of rest after which its supply is switched off; `nil` if it stays on.
  var supplyEndsAfter: Duration? {
    guard let seconds = choice?.secondsUntilOff, seconds < DeviceRest.longestTimer else { return nil }
    return .nanoseconds(Int64(seconds * 1e9))
  }
}
