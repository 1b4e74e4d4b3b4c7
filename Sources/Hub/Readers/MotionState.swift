import MonotonicTime

/// The present knowledge about motion of the board.
public enum MotionState: Equatable, Sendable {
  /// Motion is unknown.
  case unknown
  /// The board has not moved since this instant.
  case still(since: MonotonicInstant)
  /// The board moved at this instant, and may still be moving.
  case moved(at: MonotonicInstant)
}
