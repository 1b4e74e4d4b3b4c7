import MonotonicTime

/// Who wants a fix now and then, when the next one is due, and when devices are woken for it.
public struct ScheduleReport: Equatable, Sendable {
  public var holder: String
  public var schedule: Schedule
  /// What the receivers' budgets leave of that; `nil` for all.
  public var relaxed: Schedule?
  public var due: MonotonicInstant
  /// `nil` where they have been, and where they are not to be.
  public var wake: MonotonicInstant?
  public var reason: String
}
