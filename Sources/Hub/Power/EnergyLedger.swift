/// A device's energy, hour by hour for a week, by cause.
public struct EnergyLedger: Equatable, Sendable {
  public struct Hour: Equatable, Sendable {
    /// Since 1970.
    public var number: Int
    public var bills: EnergyBills
  }

  /// A week, and the hour that is under way.
  public static let hourCount = 7 * 24 + 1

  /// In their order; hours in which nothing was drawn are left out.
  public internal(set) var hours: [Hour] = []

  public init() {}

  /// Charges energy evenly to the hours in which it was drawn.
  ///
  /// - Parameters:
  ///   - seconds: the duration
  ///   - end: seconds since 1970; a clock that was set in the meantime moves the energy, and loses none of it
  mutating func charge(_ milliwattHours: Double, to payers: EnergyBills.Payers, over seconds: Double, until end: Double)
  {
    guard milliwattHours > 0, end.isFinite, seconds.isFinite else { return }
    // A board without a real-time clock starts in 1970: earlier energy is entered in the first hour.
    let end = max(0, end)
    let now = Int((end / 3600).rounded(.down))
    let all = min(max(0, seconds), end)
    // Energy from before the week is not recorded any more, and does not belong to the week either.
    var from = max(end - all, Double(now - EnergyLedger.hourCount + 1) * 3600)
    while true {
      let hour = Int((from / 3600).rounded(.down))
      let to = min(end, Double(hour + 1) * 3600)
      let part = all > 0 ? milliwattHours * (to - from) / all : milliwattHours
      charge(part, to: payers, in: hour)
      guard hour < now, to < end else { break }
      from = to
    }
    // The time of a board without a real-time clock may be years off for a while: the most distant hours are dropped
    // first.
    while hours.count > EnergyLedger.hourCount, let first = hours.first, let last = hours.last {
      if now - first.number >= last.number - now { hours.removeFirst() } else { hours.removeLast() }
    }
  }

  private mutating func charge(_ milliwattHours: Double, to payers: EnergyBills.Payers, in hour: Int) {
    // As a rule it is the last.
    var index = hours.endIndex
    while index > 0, hours[index - 1].number > hour { index -= 1 }
    if index == 0 || hours[index - 1].number < hour {
      hours.insert(Hour(number: hour, bills: EnergyBills()), at: index)
      index += 1
    }
    hours[index - 1].bills.charge(milliwattHours, to: payers)
  }

  /// The sum of the last hours, the one that is under way included.
  ///
  /// - Parameter now: seconds since 1970
  public func bills(ofLast count: Int, now: Double) -> EnergyBills {
    let present = Int((now / 3600).rounded(.down))
    var sum = EnergyBills()
    for hour in hours where hour.number > present - count && hour.number <= present { sum.add(hour.bills) }
    return sum
  }
}
