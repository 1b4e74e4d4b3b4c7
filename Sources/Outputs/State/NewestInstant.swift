import MonotonicTime

/// Tells what is news from what was on its way meanwhile, for a client that is told things from two sides: as it comes, and behind
/// it what follows; or at one rate, and then at another.
struct NewestInstant: Equatable, Sendable {
  private var last: MonotonicInstant?

  /// Takes what is of an instant; returns whether that is later than all that was taken before.
  mutating func take(_ instant: MonotonicInstant) -> Bool {
    if let last, instant <= last { return false }
    last = instant
    return true
  }
}
