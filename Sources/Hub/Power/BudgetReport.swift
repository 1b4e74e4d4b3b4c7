/// How a device stands with what it may draw in a day.
public struct BudgetReport: Equatable, Sendable {
  public var milliwattHoursPerDay: Double
  /// What may still be drawn; below 0 what was drawn too much.
  public var leftMilliwattHours: Double
  /// So many of the board file's steps are taken.
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
