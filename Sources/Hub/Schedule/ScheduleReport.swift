import MonotonicTime

/// A client with scheduled fixes, when its next fix is due, and when devices are woken for that fix.
public struct ScheduleReport: Equatable, Sendable {
  public var holder: String
  public var schedule: Schedule
  /// The degraded form of the request; `nil` if it is not degraded.
  public var degraded: Schedule?
  public var due: MonotonicInstant
  /// When devices are woken; `nil` if they are already awake, or need not wake.
  public var wake: MonotonicInstant?
  public var reason: String
}
