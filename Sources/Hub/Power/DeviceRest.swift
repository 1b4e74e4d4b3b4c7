import Devices
import MonotonicTime

/// How a device rests between its runs, and what it draws meanwhile.
///
/// Most devices rest always in the same way. For a receiver whose sleep is `auto` that is chosen each time (`SleepChoice`), and the
/// supply of one that sleeps is switched off after all when the rest lasts longer than that pays.
struct DeviceRest: Sendable {
  /// Whoever rests for a year by a mistake of these figures has lost nothing.
  private static let longestTimer = 365.0 * 86_400

  /// How the last rest was chosen, where it is.
  private(set) var choice: SleepChoice?
  /// The supply for which that counts.
  private var choiceVolts = 0.0
  /// How it rests, or has rested last, where that is chosen; `nil` before.
  private(set) var sleep: ReceiverSleep?
  /// It should have fallen asleep after its last run, and has not.
  private(set) var isAwake = false

  /// Chooses how it rests from here on.
  ///
  /// - Parameters:
  ///   - driver: of the receiver, as far as that is known
  ///   - workingMilliwatts: what it draws while it works
  ///   - starts: what starts behind each way to rest have taken
  /// - Returns: how it sleeps with its supply on; `nil` where it is not to
  mutating func choose(
    for pause: SleepChoice.Pause, of driver: ReceiverDriver, _ power: Board.Power, workingMilliwatts: Double,
    learnt starts: [ReceiverSleep: RestartCosts]
  ) -> ReceiverSleep? {
    let ways = SleepChoice.ways(of: driver, power, watts: workingMilliwatts / 1000, learnt: starts)
    let choice = SleepChoice(ways, for: pause)
    (self.choice, choiceVolts) = (choice, power.supplyVolts)
    return choice.chosen.flatMap { $0.sleep == .off ? nil : $0.sleep }
  }

  /// It was told to sleep, as far as that went.
  ///
  /// - Parameter sleep: how; of what does not rest with its supply on that does not say
  mutating func began(isAsleep: Bool, as sleep: ReceiverSleep?, _ power: Board.Power) {
    isAwake = !isAsleep
    if power.choosesSleep { self.sleep = isAsleep ? sleep : .off }
  }

  /// Its supply is off. However it rested, it does not any more: should the supply be switched on for others, it works.
  mutating func lostSupply() {
    if sleep != nil { (sleep, isAwake) = (.off, true) }
  }

  /// What it draws while nobody wants it.
  func milliwatts(_ power: Board.Power, isSupplied: Bool) -> Double {
    guard isSupplied else { return 0 }
    if isAwake { return power.milliwatts }
    guard let sleep, let way = choice?.ways.first(where: { $0.sleep == sleep }), sleep != .off else {
      return power.standbyMilliwatts
    }
    return choiceVolts > 0 ? 1000 * way.restWatts * power.supplyVolts / choiceVolts : 0
  }

  /// After what rest its supply is to be switched off; `nil` where it stays on.
  var supplyEndsAfter: Duration? {
    guard let seconds = choice?.secondsUntilOff, seconds < DeviceRest.longestTimer else { return nil }
    return .nanoseconds(Int64(seconds * 1e9))
  }
}
