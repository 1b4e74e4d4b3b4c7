import MonotonicTime

/// A client with scheduled fixes, the time of its next one, and the wake of devices for it.
public struct ScheduleReport: Equatable, Sendable {
  public var holder: String
  public var schedule: Schedule
  /// The form relaxed by the receivers' budgets; `nil` if it is not relaxed.
  public var relaxed: Schedule?
  public var due: MonotonicInstant
  /// `nil` where they have been, and where they are not to be.
  public var wake: MonotonicInstant?
  public var reason: String
}
