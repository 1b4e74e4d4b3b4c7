import MonotonicTime

/// A device's energy budget for a day, and the steps to take, in order, when the budget runs short.
///
/// The budget is like a bank account. It receives a twenty-fourth of the day's energy each hour, and the device's
/// energy is taken out. At most a quarter of a day's energy can be saved. The emptier the account, the more steps
/// apply. An excessive demand is therefore reduced over the whole day, instead of using up the budget in a few hours.
public struct EnergyBudget: Equatable, Sendable {
  public static let milliwattHours = 0.001...1_000_000.0

  public var milliwattHoursPerDay: Double
  /// The steps, which are applied one after the other. Each adds to the previous ones.
  public var steps: [Degradation]

  public init(milliwattHoursPerDay: Double, steps: [Degradation] = []) {
    self.milliwattHoursPerDay = milliwattHoursPerDay
    self.steps = steps
  }

  private static let savedDays = 0.25

  /// The limit of savings and of debts, milliwatt-hours. A debt is therefore paid back within a quarter of a day.
  var capacity: Double { EnergyBudget.savedDays * milliwattHoursPerDay }

  /// The remaining energy, milliwatt-hours; negative if the budget is exceeded. It is computed from the hourly record
  /// of a week, so it survives a restart.
  ///
  /// - Parameter now: seconds since 1970
  func left(_ energyLog: EnergyLog, now: Double) -> Double {
    guard now.isFinite, abs(now) < 1e15 else { return capacity }
    let present = Int((now / 3600).rounded(.down))
    let hourly = milliwattHoursPerDay / 24
    var left = capacity
    var hours = energyLog.hours.drop { $0.number <= present - EnergyLog.hourCount }
    for number in (present - EnergyLog.hourCount + 1)...present {
      let part = number == present ? now / 3600 - Double(present) : 1
      var drawn = 0.0
      if let hour = hours.first, hour.number == number {
        drawn = hour.energyByClient.milliwattHours
        hours = hours.dropFirst()
      }
      left = min(capacity, max(-capacity, left + hourly * part - drawn))
    }
    return left
  }

  /// The number of steps that apply at a remaining energy.
  ///
  /// - Parameter taken: the present number; a step ends only half a step above the level at which it began. Otherwise a
  ///   balance at the threshold would change the number with each fix
  func stepCount(left: Double, taken: Int) -> Int {
    let size = capacity / Double(steps.count + 1)
    /// The remaining energy below which a step applies.
    func limit(_ step: Int) -> Double { capacity - Double(step) * size }
    var count = min(taken, steps.count)
    while count < steps.count, left < limit(count + 1) { count += 1 }
    while count > 0, left > limit(count) + size / 2 { count -= 1 }
    return count
  }

  /// The first `stepCount` steps, combined.
  func degradation(_ stepCount: Int) -> Degradation { Degradation.of(steps.prefix(stepCount)) }
}

extension EnergyBudget {
  /// - Parameter section: the device's section `power`, with the keys `milliwattHoursPerDay` and `whenShort`
  init?(_ section: inout BoardSection, ofReceiver isReceiver: Bool) throws(BoardError) {
    let perDay = try section.number("milliwattHoursPerDay", in: EnergyBudget.milliwattHours)
    let steps = try EnergyBudget.steps(&section)
    guard let perDay else {
      if !steps.isEmpty { throw section.missing("milliwattHoursPerDay") }
      return nil
    }
    if !isReceiver, !steps.isEmpty {
      throw section.wrong("whenShort", expected: "left out: it is about fixes, and this device is not a receiver")
    }
    self.init(milliwattHoursPerDay: perDay, steps: steps)
  }

  /// Reads the steps of a budget or of the battery.
  static func steps(_ section: inout BoardSection) throws(BoardError) -> [Degradation] {
    var steps: [Degradation] = []
    for step in try section.sections("whenShort") { steps.append(try Degradation(step)) }
    if steps.count > 16 { throw section.wrong("whenShort", expected: "a list of at most 16 steps") }
    return steps
  }
}

extension Degradation {
  fileprivate init(_ section: BoardSection) throws(BoardError) {
    var section = section
    let every = try section.number("everySeconds", in: Schedule.everySeconds)
    let accuracy = try section.number("accuracyMetres", in: Schedule.accuracyMetres)
    try section.finish()
    if every == nil, accuracy == nil { throw section.missing("everySeconds") }
    self.init(every: every.map { .nanoseconds(Int64($0 * 1e9)) }, accuracyMetres: accuracy)
  }
}

/// The state of a device's daily energy budget.
public struct BudgetReport: Equatable, Sendable {
  public var milliwattHoursPerDay: Double
  /// The remaining energy; negative if the budget is exceeded.
  public var leftMilliwattHours: Double
  /// The number of the board file's steps that apply.
  public var stepCount: Int
  public var steps: Int
  /// The limits of all steps that apply, combined.
  public var degradation: Degradation

  /// A warning for the owner; `nil` while there is enough energy.
  var warning: String? {
    let budget = "its budget of \(milliwattHoursPerDay.short) mWh a day"
    if let text = degradation.text { return "\(budget) is short: \(text)" }
    return leftMilliwattHours < 0 ? "\(budget) is used up" : nil
  }
}

extension EnergyBudget {
  /// The state of the budget.
  ///
  /// - Parameters:
  ///   - left: the remaining energy, milliwatt-hours; negative if the budget is exceeded
  ///   - taken: the number of steps that applied before
  func report(left: Double, taken: Int) -> BudgetReport {
    let count = stepCount(left: left, taken: taken)
    return BudgetReport(
      milliwattHoursPerDay: milliwattHoursPerDay, leftMilliwattHours: left, stepCount: count, steps: steps.count,
      degradation: degradation(count))
  }
}
