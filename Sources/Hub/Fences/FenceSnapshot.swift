import MonotonicTime

/// A fence as observers see it: its area, the side of the board, and the time of the next fix.
public struct FenceSnapshot: Equatable, Sendable {
  public var area: FenceArea
  public var status: FenceStatus
  /// The time by which the next useful fix should come. After this time the fix is late.
  public var dueAt: MonotonicInstant
  /// The time at which the side becomes unknown without a fix; `nil` once the loss has been reported.
  public var blindAt: MonotonicInstant?

  public init(area: FenceArea, status: FenceStatus, dueAt: MonotonicInstant, blindAt: MonotonicInstant?) {
    self.area = area
    self.status = status
    self.dueAt = dueAt
    self.blindAt = blindAt
  }
}
