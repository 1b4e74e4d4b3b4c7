import Glibc

/// How the times of fixes are chosen.
public enum FixTimes: Sendable {
  /// The hub's decision keeps the position within the bound.
  case bounded
  /// A fix every N seconds.
  case every(seconds: Double)
}

/// The result of a journey: how long the receiver was on, and how far the known position was from the truth.
public struct JourneyOutcome: Sendable {
  /// The errors of a known position at regular instants.
  public struct Errors: Sendable {
    private var metres: [Double] = []

    mutating func add(_ error: Double) { metres.append(error) }

    mutating func add(_ other: Errors) { metres += other.metres }

    /// The share of the time for which the error was less than a bound.
    public func share(within bound: Double) -> Double {
      Double(metres.count { $0 < bound }) / Double(max(1, metres.count))
    }

    /// The error that is exceeded for 5 % of the time.
    public var percentile95: Double {
      metres.isEmpty ? 0 : metres.sorted()[min(metres.count - 1, metres.count * 95 / 100)]
    }

    public var mean: Double { metres.reduce(0, +) / Double(max(1, metres.count)) }
  }

  /// The time of the journey, and the part of it for which the receiver was on, in equal units.
  public internal(set) var time = 0.0
  public internal(set) var onTime = 0.0
  public internal(set) var fixCount = 0
  /// The errors of the hub's position, which dead reckoning continues if the board can do that.
  public internal(set) var errors = Errors()
  /// The errors of the last fix, for a client that keeps it until the next one.
  public internal(set) var errorsOfLastFix = Errors()

  public var onShare: Double { onTime / max(time, .leastNonzeroMagnitude) }

  /// The outcome of several journeys together.
  public init(_ outcomes: [JourneyOutcome] = []) {
    for outcome in outcomes {
      time += outcome.time
      onTime += outcome.onTime
      fixCount += outcome.fixCount
      errors.add(outcome.errors)
      errorsOfLastFix.add(outcome.errorsOfLastFix)
    }
  }

  /// The interval between fixes with which the receiver is on for the same share of the time, found by bisection. This
  /// favours fixed intervals, because in reality the interval is chosen before the journey is known.
  ///
  /// - Parameter outcome: the outcome for an interval in seconds
  public func withEqualEnergy(
    _ outcome: (_ interval: Double) -> JourneyOutcome
  ) -> (interval: Double, outcome: JourneyOutcome) {
    var (short, long) = (1.0, 6 * 3600.0)
    for _ in 0..<10 {
      let middle = (short * long).squareRoot()
      if outcome(middle).onShare > onShare { short = middle } else { long = middle }
    }
    // The shorter interval needs at least as much energy, so that the comparison favours fixed intervals.
    return (short, outcome(short))
  }
}
