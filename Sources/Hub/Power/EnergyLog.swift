/// A device's energy per client, hour by hour for a week.
public struct EnergyLog: Equatable, Sendable {
  public struct Hour: Equatable, Sendable {
    /// The number of the hour since 1970.
    public var number: Int
    public var energyByClient: EnergyByClient
  }

  /// The number of hours: a week and the present hour.
  public static let hourCount = 7 * 24 + 1

  /// The hours in order, without those that used no energy.
  public internal(set) var hours: [Hour] = []

  public init() {}

  /// Distributes energy evenly over the hours in which it was used.
  ///
  /// - Parameters:
  ///   - seconds: the duration of the use
  ///   - end: the end of the use, seconds since 1970; if the clock was set in the meantime, the energy moves to other
  ///     hours, and none is lost
  mutating func charge(
    _ milliwattHours: Double, to payers: EnergyByClient.Payers, over seconds: Double, until end: Double
  ) {
    guard milliwattHours > 0, end.isFinite, seconds.isFinite else { return }
    // A board without a real-time clock starts in 1970, so earlier energy goes to the first hour.
    let end = max(0, end)
    let now = Int((end / 3600).rounded(.down))
    let all = min(max(0, seconds), end)
    // Energy from before the week is dropped.
    var from = max(end - all, Double(now - EnergyLog.hourCount + 1) * 3600)
    while true {
      let hour = Int((from / 3600).rounded(.down))
      let to = min(end, Double(hour + 1) * 3600)
      let part = all > 0 ? milliwattHours * (to - from) / all : milliwattHours
      charge(part, to: payers, in: hour)
      guard hour < now, to < end else { break }
      from = to
    }
    // The clock of a board without a real-time clock may be wrong by years for a while. Therefore the hours farthest
    // from now are dropped first.
    while hours.count > EnergyLog.hourCount, let first = hours.first, let last = hours.last {
      if now - first.number >= last.number - now { hours.removeFirst() } else { hours.removeLast() }
    }
  }

  private mutating func charge(_ milliwattHours: Double, to payers: EnergyByClient.Payers, in hour: Int) {
    // The hour is usually the last one.
    var index = hours.endIndex
    while index > 0, hours[index - 1].number > hour { index -= 1 }
    if index == 0 || hours[index - 1].number < hour {
      hours.insert(Hour(number: hour, energyByClient: EnergyByClient()), at: index)
      index += 1
    }
    hours[index - 1].energyByClient.charge(milliwattHours, to: payers)
  }

  /// The energy per client in the last `count` hours, including the present one.
  ///
  /// - Parameter now: seconds since 1970
  public func energyByClient(ofLast count: Int, now: Double) -> EnergyByClient {
    let present = Int((now / 3600).rounded(.down))
    var sum = EnergyByClient()
    for hour in hours where hour.number > present - count && hour.number <= present { sum.add(hour.energyByClient) }
    return sum
  }
}
