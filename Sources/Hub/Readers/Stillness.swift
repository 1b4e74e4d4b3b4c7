import MonotonicTime

/// What is known of whether the board moves.
public enum Stillness: Equatable, Sendable {
  /// Nobody can tell.
  case unknown
  /// It has not moved since then.
  case still(since: MonotonicInstant)
  /// It has moved, at that instant, and nobody has looked since whether it still does.
  case moved(at: MonotonicInstant)
}
