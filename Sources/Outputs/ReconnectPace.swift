/// How long a client waits before it tries its broker, or its caster, again: ever longer, and each client another time, as all
/// that one of them has lost would come back at one instant.
struct ReconnectPace {
  private static let longest = 60.0
  /// Over how long they spread that are not in a hurry.
  private static let spread = 10.0
  private var failures = 0
  private var random: any RandomNumberGenerator & Sendable

  init(using random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) { self.random = random }

  /// It was there for a while.
  mutating func reset() { failures = 0 }

  /// A second and twice as long each time, less up to a half of that; from a minute on a minute, and up to a half more: no
  /// client comes more than once a minute from then on.
  mutating func next() -> Duration {
    let wait = Double(1 << min(failures, 16))
    failures += 1
    let share = Double.random(in: 0...0.5, using: &random)
    return .seconds(wait < Self.longest ? wait * (1 - share) : Self.longest * (1 + share))
  }

  /// For a lost connection of a client without observers: a restarted broker loses a thousand of them at one instant,
  /// and should have a hundred a second come back, after those with observers.
  mutating func nextGivingWay() -> Duration {
    max(next(), .seconds(Double.random(in: 0.5...Self.spread, using: &random)))
  }

  /// For a broker that refuses the client: until a person has solved that.
  mutating func afterRefusal() -> Duration {
    .seconds(Self.longest * Double.random(in: 1...1.5, using: &random))
  }
}
