import MonotonicTime

/// A fence for its observers: its place, the side of the board, and the time of the next information.
public struct FenceOutlook: Equatable, Sendable {
  public var area: FenceArea
  public var status: FenceStatus
  /// The latest time for the next useful fix; it is late from then on.
  public var dueAt: MonotonicInstant
  /// The time at which it is too late, and the side becomes unknown; `nil` if that has been reported.
  public var blindAt: MonotonicInstant?

  public init(area: FenceArea, status: FenceStatus, dueAt: MonotonicInstant, blindAt: MonotonicInstant?) {
    self.area = area
    self.status = status
    self.dueAt = dueAt
    self.blindAt = blindAt
  }
}
