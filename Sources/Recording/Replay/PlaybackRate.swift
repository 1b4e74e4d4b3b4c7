import MonotonicTime

/// Limits how much of a recording may be played, by the real time that has passed.
struct PlaybackRate {
  /// The maximum backlog, in real time. If the thread was delayed for longer, the replay does not catch up the rest.
  private static let mostOwed = Duration.seconds(1)

  private var last: MonotonicInstant
  private var owed = Duration.zero

  init(at now: MonotonicInstant) { last = now }

  /// - Parameter rate: recorded seconds per second; 0 while paused
  mutating func advance(to now: MonotonicInstant, rate: Double) {
    owed = rate > 0 ? min(owed + (now - last) * rate, PlaybackRate.mostOwed * max(rate, 1)) : .zero
    last = now
  }

  /// The part of a duration that may be played now. It is taken from the backlog.
  mutating func take(_ duration: Duration) -> Duration {
    let taken = max(.zero, min(owed, duration))
    owed -= taken
    return taken
  }
}
