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
