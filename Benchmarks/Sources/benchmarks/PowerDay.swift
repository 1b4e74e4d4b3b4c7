import Hub

/// A day in the life of a board, and how different programs supply its receiver on that day. The board file of each day
/// is in Documentation/how-to/five-days.md.
struct PowerDay: Sendable {
  let name: String
  /// The needs of the board, as a request or a fence of the hub.
  let demand: ScheduledDemand
  /// The time from one fix to the next for programs that do not know whether the board moves; `nil` for a program that
  /// watches all day.
  let clientPeriod: Double?
  /// The time from one start of a cron script to the next.
  let cronPeriod: Double

  private static let day = ScheduledDemand.day
  /// gpsd releases a receiver this long after its last client. The power is assumed to follow, although gpsd itself
  /// switches no supply.
  private static let gpsdSeconds = 60.0
  /// How long a cron script leaves the receiver on, because it does not see when a fix is good. Shorter times miss fixes
  /// after a cold start.
  private static let cronSeconds = 45.0

  static let all = [
    // Nothing moves all day, so the hub takes one fix, and waits for motion.
    PowerDay(
      name: "parked van, position every 5 minutes",
      demand: ScheduledDemand(
        name: "parked van", seconds: day, schedule: every(300), standing: 0..<day),
      clientPeriod: 300, cronPeriod: 300),
    // Two hours of driving.
    PowerDay(
      name: "commuter, position every minute",
      demand: ScheduledDemand(name: "commuter", seconds: day, schedule: every(60), standing: 0..<22 * 3600),
      clientPeriod: 60, cronPeriod: 60),
    PowerDay(
      name: "boat at anchor, fence of 40 m",
      demand: ScheduledDemand(name: "boat at anchor", seconds: day, fenceMetres: 40, swingMetres: 12),
      clientPeriod: nil, cronPeriod: 60),
    PowerDay(
      name: "hiker's beacon, position every 10 minutes",
      demand: ScheduledDemand(name: "hiker's beacon", seconds: day, schedule: every(600)),
      clientPeriod: 600, cronPeriod: 600),
    PowerDay(
      name: "wildlife collar, position every hour",
      demand: ScheduledDemand(name: "wildlife collar", seconds: day, schedule: every(3600)),
      clientPeriod: 3600, cronPeriod: 3600),
  ]

  private static func every(_ seconds: Int) -> Schedule {
    Schedule(every: .seconds(seconds), accuracyMetres: 10, within: .seconds(45))
  }

  /// The energy of a receiver that is always on, milliwatt-hours.
  static let alwaysOn = milliwattHours(day)

  /// The energy with gpsd, which keeps the receiver on for a while after each client.
  func gpsd(_ receiver: PowerReceiver) -> Double {
    guard let clientPeriod else { return PowerDay.alwaysOn }
    var (on, off) = (0.0, Double.infinity)
    for index in 0..<Int(PowerDay.day / clientPeriod) {
      let needed = PowerDay.start(index, after: off, receiver) + PowerDay.gpsdSeconds
      on += min(clientPeriod, needed)
      off = max(0, clientPeriod - needed)
    }
    return PowerDay.milliwattHours(on)
  }

  /// The energy with a cron script, which switches the receiver on for a fixed time.
  var cron: Double { PowerDay.milliwattHours(PowerDay.day / cronPeriod * min(cronPeriod, PowerDay.cronSeconds)) }

  /// The time until a fix is good. A receiver that has stayed on has one each second.
  private static func start(_ index: Int, after off: Double, _ receiver: PowerReceiver) -> Double {
    if off == 0 { return 1 }
    let kind = off == .infinity ? RestartCosts.Kind.cold : RestartCosts.Kind(after: off)
    return (receiver.seconds[kind] ?? 0) * PowerReceiver.luck(ofFix: index) + ScheduledReceiver.settlingSeconds
  }

  private static func milliwattHours(_ seconds: Double) -> Double { PowerReceiver.watts * seconds / 3.6 }
}
