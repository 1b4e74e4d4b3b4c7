/// The state of a device's daily energy budget.
public struct BudgetReport: Equatable, Sendable {
  public var milliwattHoursPerDay: Double
  /// The remaining energy; below 0 the excess.
  public var leftMilliwattHours: Double
  /// The number of the board file's steps that are taken.
  public var stepCount: Int
  public var steps: Int
  /// What these leave of wishes for fixes.
  public var relaxation: Relaxation

  /// What its owner should know; `nil` while there is enough.
  var remark: String? {
    let budget = "its budget of \(milliwattHoursPerDay.short) mWh a day"
    if let text = relaxation.text { return "\(budget) is short: \(text)" }
    return leftMilliwattHours < 0 ? "\(budget) is used up" : nil
  }
}
