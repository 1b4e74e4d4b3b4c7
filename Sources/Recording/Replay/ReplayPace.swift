import MonotonicTime

/// How much of the recording's time real time has given leave to play.
struct ReplayPace {
  /// A machine that was stopped for a while does not make up for more.
  private static let mostOwed = Duration.seconds(1)

  private var last: MonotonicInstant
  private var owed = Duration.zero

  init(at now: MonotonicInstant) { last = now }

  /// - Parameter rate: 0 while it is halted
  mutating func advance(to now: MonotonicInstant, rate: Double) {
    owed = rate > 0 ? min(owed + (now - last) * rate, ReplayPace.mostOwed * max(rate, 1)) : .zero
    last = now
  }

  /// The part of the available time that may be played now.
  mutating func take(_ duration: Duration) -> Duration {
    let taken = max(.zero, min(owed, duration))
    owed -= taken
    return taken
  }
}
