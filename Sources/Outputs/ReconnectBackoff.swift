/// The time that a client waits before it connects to its broker or caster again. The pauses grow, and they are random,
/// because all clients of a lost broker would otherwise return at once.
struct ReconnectBackoff {
  private static let longest = 60.0
  /// The period, in seconds, over which clients without urgency spread.
  private static let spread = 10.0
  private var failures = 0
  private var random: any RandomNumberGenerator & Sendable

  init(using random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) { self.random = random }

  /// Begins with short pauses again, after a connection that lasted.
  mutating func reset() { failures = 0 }

  /// The next pause. It begins with a second and doubles each time, less a random part of up to a half. From a minute
  /// on it stays at a minute plus up to a half, so that a client tries at most once a minute.
  mutating func next() -> Duration {
    let wait = Double(1 << min(failures, 16))
    failures += 1
    let share = Double.random(in: 0...0.5, using: &random)
    return .seconds(wait < Self.longest ? wait * (1 - share) : Self.longest * (1 + share))
  }

  /// The pause of a client without observers after a lost connection. A restarted broker loses a thousand clients at
  /// once; a hundred a second should return, after the clients with observers.
  mutating func nextGivingWay() -> Duration {
    max(next(), .seconds(Double.random(in: 0.5...Self.spread, using: &random)))
  }

  /// The pause after a broker refused the client, which only a person can solve.
  mutating func afterRefusal() -> Duration {
    .seconds(Self.longest * Double.random(in: 1...1.5, using: &random))
  }
}
