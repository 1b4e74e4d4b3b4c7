import MonotonicTime

/// The time to wait before another attempt to reach a broker, a caster or a hook's target, or to open a port. The
/// pauses grow. They are random, so that the clients of a lost broker do not all return at once.
struct ReconnectBackoff {
  private static let longest = 60.0
  private static let backoff = Backoff(initial: .seconds(1), maximum: .seconds(longest))
  /// After a lost connection, clients without viewers reconnect at random instants within this time, in seconds.
  private static let spread = 10.0
  private var failures = 0
  private var random: any RandomNumberGenerator & Sendable

  init(using random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) { self.random = random }

  /// Starts again with short pauses, after a connection that lasted.
  mutating func reset() { failures = 0 }

  /// The next pause. Pauses double from one second, and each one is shortened by a random part of up to a half. Once a
  /// pause would be a minute or longer, it is a minute plus a random part of up to half a minute. A client then tries
  /// at most once a minute.
  mutating func next() -> Duration {
    failures += 1
    let wait = Self.backoff.delay(afterFailures: failures).inSeconds
    let share = Double.random(in: 0...0.5, using: &random)
    return .seconds(wait < Self.longest ? wait * (1 - share) : Self.longest * (1 + share))
  }

  /// The pause, after a lost connection, of a client that has no viewers. A restarted broker loses a thousand clients
  /// at once; they should return at a hundred a second, after the clients with viewers.
  mutating func nextGivingWay() -> Duration {
    max(next(), .seconds(Double.random(in: 0.5...Self.spread, using: &random)))
  }

  /// The pause after a caster or a hook's target has refused: 60 to 90 s. It is long because only a person can remove
  /// the cause.
  mutating func afterRefusal() -> Duration {
    .seconds(Self.longest * Double.random(in: 1...1.5, using: &random))
  }
}
