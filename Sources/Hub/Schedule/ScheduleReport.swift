import MonotonicTime

/// A client with scheduled fixes, the time of its next fix, and the wake of devices for it.
public struct ScheduleReport: Equatable, Sendable {
  public var holder: String
  public var schedule: Schedule
  /// The degraded form of the request; `nil` if it is not degraded.
  public var degraded: Schedule?
  public var due: MonotonicInstant
  /// The wake of devices; `nil` if they are already awake, or need not wake.
  public var wake: MonotonicInstant?
  public var reason: String
}
