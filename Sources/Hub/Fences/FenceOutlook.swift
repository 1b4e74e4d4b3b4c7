import MonotonicTime

/// A fence as whoever looks at it wants it: where it is, on which side of it the board is, and when there is more to be known.
public struct FenceOutlook: Equatable, Sendable {
  public var area: FenceArea
  public var status: FenceStatus
  /// When the next fix that says something is to be there at the latest; it is late from then on.
  public var dueAt: MonotonicInstant
  /// When it is too late, and the side unknown; `nil` where that has been said.
  public var blindAt: MonotonicInstant?

  public init(area: FenceArea, status: FenceStatus, dueAt: MonotonicInstant, blindAt: MonotonicInstant?) {
    self.area = area
    self.status = status
    self.dueAt = dueAt
    self.blindAt = blindAt
  }
}
