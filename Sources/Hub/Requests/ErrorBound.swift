import Fusion
import MonotonicTime

/// Decides when the next fix is needed, so that the position's sigma stays below a bound. It only decides: no clock, no lease.
///
/// `ScheduledFixes` wakes the receiver before that, as early as its starts have taken. With a motion sensor that tells that nothing
/// moves the next fix is hours away; without one the board may set off at any time, as fast as it was seen to.
struct ErrorBound: Sendable {
  /// As fast as a car sets off in a city, m/s².
  static let usualAcceleration = 1.5
  /// As fast as a person walks: a board that was never seen to move may be carried away.
  static let leastSpeed = 2.0
  /// A board that was as fast as this within this time may be again.
  static let memory = Duration.seconds(15 * 60)
  /// Nothing is left to creep for longer without a look.
  static let longestStill = 6 * 3600.0
  /// The part of the bound that a fix itself may take, so that some is left for the time after it.
  static let shareOfFix = 0.5

  let metres: Double
  let within: Duration
  /// The highest speeds that were seen, each with its instant, falling.
  private var speeds: [(metresPerSecond: Double, at: MonotonicInstant)] = []
  /// From the last fix until the next one is needed.
  private(set) var interval = Duration.seconds(1)

  init(metres: Double, within: Duration) {
    self.metres = metres
    self.within = within
  }

  /// When the next fix is due, and how good it must be.
  var schedule: Schedule {
    let radius = metres * ErrorBound.shareOfFix * Confidence.radial
    let limits = Schedule.accuracyMetres
    return Schedule(
      every: interval, accuracyMetres: min(max(radius, limits.lowerBound), limits.upperBound), within: within)
  }

  /// A fix was delivered, or time ran out without one.
  ///
  /// - Parameters:
  ///   - sigmaMetres: of its position; `nil` without one
  ///   - speedMetresPerSecond: `nil` if unknown
  ///   - fix: when it was valid
  ///   - isStill: nothing has moved since
  mutating func receive(
    sigmaMetres: Double?, speedMetresPerSecond: Double?, fix: MonotonicInstant, isStill: Bool, at now: MonotonicInstant
  ) {
    if let speedMetresPerSecond { note(speedMetresPerSecond, at: now) }
    guard let sigmaMetres else {
      interval = ErrorBound.leastInterval
      return
    }
    let growth: SigmaGrowth
    var passed = 0.0
    if isStill {
      growth = .still(sigmaMetres: sigmaMetres)
    } else {
      growth = moving(sigmaMetres, speedMetresPerSecond, at: now)
      // A fix that came early has waited for its time.
      passed = max(0, now.seconds(since: fix))
    }
    // A fix that stands is given again only while it is as good as one must be.
    let bound = isStill ? metres * ErrorBound.shareOfFix : metres
    let seconds = growth.seconds(until: bound, atMost: ErrorBound.longestStill) - passed
    interval = max(ErrorBound.leastInterval, .nanoseconds(Int64(seconds * 1e9)))
  }

  private static let leastInterval = Duration.seconds(1)

  private func moving(_ sigma: Double, _ speed: Double?, at now: MonotonicInstant) -> SigmaGrowth {
    let seen = speeds.first?.metresPerSecond ?? 0
    let most = max(ErrorBound.leastSpeed, seen * 1.25)
    return SigmaGrowth(
      sigmaMetres: sigma, metresPerSecond: min(speed ?? most, most),
      metresPerSecondSquared: ErrorBound.usualAcceleration, mostMetresPerSecond: most)
  }

  /// Keeps the highest speed of the last time, and those that will be the highest once it is too old.
  private mutating func note(_ speed: Double, at now: MonotonicInstant) {
    speeds.removeAll { $0.metresPerSecond <= speed || now - $0.at > ErrorBound.memory }
    // Falling from the first to this one, which is the lowest of all that count.
    speeds.append((speed, now))
  }
}
