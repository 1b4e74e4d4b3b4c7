import MonotonicTime

/// The knowledge about motion of the board.
public enum Stillness: Equatable, Sendable {
  /// It is unknown.
  case unknown
  /// It has not moved since then.
  case still(since: MonotonicInstant)
  /// It has moved, at that instant, and it is unknown whether it still does.
  case moved(at: MonotonicInstant)
}
