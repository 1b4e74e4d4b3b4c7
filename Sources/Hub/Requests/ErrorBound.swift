import Fusion
import MonotonicTime

/// Decides when the next fix is needed, so that the position stays within a bound of the truth. The type has no clock
/// and no lease.
///
/// The bound has the meaning of `accuracy`: the radius that contains 95 % of such positions. The sigma along one axis
/// must therefore stay below the bound divided by `Confidence.radial`.
///
/// `FixPlanner` wakes the receiver earlier, by its usual start time. The time until the next fix depends on the source
/// of knowledge until then: a motion sensor without motion, dead reckoning, or only the last speed.
///
/// Dead reckoning may be worse than its sigma says, for example if the sensor is not mounted rigidly. Each fix after a
/// sleep shows how much worse, and the next intervals are shorter (`ReckoningScale`).
package struct ErrorBound: Sendable {
  /// The assumed acceleration, that of a car in a city, m/s².
  static let usualAcceleration = 1.5
  /// The lowest assumed speed, that of a walking person, m/s. A person may carry away a board that has never moved.
  static let leastSpeed = 2.0
  /// The board is assumed to be able to reach any speed again that it had within this time.
  static let memory = Duration.seconds(15 * 60)
  /// The longest time until the next fix, seconds.
  static let longest = 6 * 3600.0
  /// The share of the bound that a fix itself may use; the rest is for the time after it.
  package static let shareOfFix = 0.5
  /// The smallest sigma of the acceleration in dead reckoning, from the sensor's remaining bias, m/s².
  static let leastReckonedAcceleration = 0.02
  private static let leastInterval = Duration.seconds(1)
  /// The prediction of dead reckoning changes with each state. The schedule changes only if the new interval differs by
  /// more than this share.
  private static let tolerance = 0.1

  /// The source of knowledge about the position between two fixes.
  package enum Carrier: Equatable, Sendable {
    /// A motion sensor has detected no motion since the fix.
    case stillness
    /// Dead reckoning, with the sigma of its velocity along one axis and the sigma of roll and pitch. An error in roll
    /// or pitch makes a part of gravity look like acceleration.
    case reckoning(sigmaMetresPerSecond: Double, inclinationSigmaRadians: Double)
    /// Nothing updates the position, and the board may move.
    case nothing
  }

  /// A position and its uncertainty at an instant.
  package struct Estimate: Equatable, Sendable {
    package var sigmaMetres: Double
    package var carrier: Carrier
    /// The speed over ground; `nil` if unknown.
    package var speedMetresPerSecond: Double?
    package var at: MonotonicInstant
    /// How well dead reckoning predicted the fix that ended it last; `nil` if unknown.
    package var check: FusedState.ReckoningCheck?

    package init(sigmaMetres: Double, carrier: Carrier, speedMetresPerSecond: Double?, at: MonotonicInstant) {
      self.sigmaMetres = sigmaMetres
      self.carrier = carrier
      self.speedMetresPerSecond = speedMetresPerSecond
      self.at = at
    }
  }

  package let metres: Double
  package let within: Duration
  private var sigmaLimit: Double { metres / Confidence.radial }
  /// The highest observed speeds with their instants, in descending order.
  private var speeds: [(metresPerSecond: Double, at: MonotonicInstant)] = []
  /// The time from the last decision until the next fix is needed.
  package private(set) var interval = ErrorBound.leastInterval
  /// The ratio of the true errors of dead reckoning to its sigmas.
  private var scale = ReckoningScale()
  /// Whether the interval relies on a motion sensor that has detected no motion.
  private var isStill = false
  /// When the next fix is needed; `nil` before the first.
  package private(set) var dueAt: MonotonicInstant?

  package init(metres: Double, within: Duration) {
    self.metres = metres
    self.within = within
  }

  /// The request for the next fix.
  package var schedule: Schedule {
    let radius = metres * ErrorBound.shareOfFix
    let limits = Schedule.accuracyMetres
    var schedule = Schedule(
      every: interval, accuracyMetres: min(max(radius, limits.lowerBound), limits.upperBound), within: within)
    schedule.needsStillness = isStill
    schedule.takesEarlyFix = true
    schedule.pausesSearch = true
    return schedule
  }

  /// Takes a delivered fix, or the position when time ran out; `nil` if there is none.
  ///
  /// - Parameter degradedMetres: the radius that is good enough for a fix while energy is short; `nil` if the request is
  ///   not degraded
  package mutating func receive(_ estimate: Estimate?, degradedMetres: Double? = nil, at now: MonotonicInstant) {
    if let speed = estimate?.speedMetresPerSecond { note(speed, at: now) }
    if let check = estimate?.check { scale.learn(check) }
    interval = estimate.map { time(of: $0, degradedMetres: degradedMetres, at: now) } ?? ErrorBound.leastInterval
    isStill = estimate?.carrier == .stillness
    dueAt = now + interval
  }

  /// Takes the present estimate of dead reckoning between two fixes.
  ///
  /// - Parameter lead: how early the receiver is woken; a start in progress is not changed
  /// - Returns: whether the next fix is due at another time
  package mutating func review(_ estimate: Estimate, lead: Duration, at now: MonotonicInstant) -> Bool {
    guard let dueAt, now + lead + ErrorBound.leastInterval < dueAt else { return false }
    // The sigma has grown by dead reckoning since the fix, and the true error exceeds it by the learned factor.
    var estimate = estimate
    estimate.sigmaMetres *= scale.factor
    let next = max(time(of: estimate, at: now), lead + ErrorBound.leastInterval)
    let planned = dueAt - now
    guard abs((next - planned).inSeconds) > max(1, ErrorBound.tolerance * planned.inSeconds) else { return false }
    (interval, isStill) = (next, false)
    self.dueAt = now + next
    return true
  }

  /// The longest time from one fix to the next without a sensor for motion, because a person may carry the board away
  /// at any moment.
  static func longestInterval(metres: Double) -> Duration {
    let growth = SigmaGrowth(
      sigmaMetres: 0, metresPerSecond: 0, metresPerSecondSquared: usualAcceleration, mostMetresPerSecond: leastSpeed)
    return .seconds(growth.seconds(until: metres / Confidence.radial, atMost: longest))
  }

  /// The growth of the sigma after an estimate.
  package func growth(of estimate: Estimate) -> SigmaGrowth {
    switch estimate.carrier {
    case .stillness: return .still(sigmaMetres: estimate.sigmaMetres)
    case .reckoning(let velocity, let inclination):
      return SigmaGrowth(
        sigmaMetres: estimate.sigmaMetres, metresPerSecond: scale.factor * velocity,
        metresPerSecondSquared: scale.factor * max(ErrorBound.leastReckonedAcceleration, 9.81 * inclination))
    case .nothing:
      let most = max(ErrorBound.leastSpeed, 1.25 * (speeds.first?.metresPerSecond ?? 0))
      return SigmaGrowth(
        sigmaMetres: estimate.sigmaMetres, metresPerSecond: min(estimate.speedMetresPerSecond ?? most, most),
        metresPerSecondSquared: ErrorBound.usualAcceleration, mostMetresPerSecond: most)
    }
  }

  private func time(of estimate: Estimate, degradedMetres: Double? = nil, at now: MonotonicInstant) -> Duration {
    // The position of a standing board is repeated only while it is as good as a fix must be. While energy is short,
    // the degraded accuracy applies. With the full accuracy, the same fix would be repeated every second.
    let isStill = estimate.carrier == .stillness
    let enough = max(sigmaLimit * ErrorBound.shareOfFix, (degradedMetres ?? 0) / Confidence.radial)
    let seconds = growth(of: estimate).seconds(until: isStill ? enough : sigmaLimit, atMost: ErrorBound.longest)
    // A fix that came early was held until it was due, so part of the time has passed. The position of a standing board
    // already has its present sigma.
    let passed = isStill ? 0 : max(0, now.seconds(since: estimate.at))
    return max(ErrorBound.leastInterval, .nanoseconds(Int64((seconds - passed) * 1e9)))
  }

  /// Records a speed, and drops earlier speeds that are not higher or are too old.
  private mutating func note(_ speed: Double, at now: MonotonicInstant) {
    speeds.removeAll { $0.metresPerSecond <= speed || now - $0.at > ErrorBound.memory }
    // All remaining speeds are higher, so the list stays in descending order.
    speeds.append((speed, now))
  }
}

extension ErrorBound.Estimate {
  /// The estimate of a state; `nil` without a position of known certainty.
  ///
  /// - Parameter isStill: whether a motion sensor has detected no motion since the position was measured
  package init?(_ state: FusedState, isStill: Bool) {
    guard let position = state.position, let radius = state.radiusMetres else { return nil }
    let motion = state.motion?.value
    let carrier: ErrorBound.Carrier
    if isStill {
      carrier = .stillness
    } else if state.mode == .fused || state.mode == .deadReckoning, let attitude = state.attitude?.value,
      let velocity = motion?.horizontalSigmaMetresPerSecond, velocity.isFinite,
      attitude.inclinationSigmaRadians.isFinite
    {
      carrier = .reckoning(
        sigmaMetresPerSecond: velocity, inclinationSigmaRadians: attitude.inclinationSigmaRadians)
    } else {
      carrier = .nothing
    }
    self.init(
      sigmaMetres: radius / Confidence.radial, carrier: carrier, speedMetresPerSecond: motion?.speedMetresPerSecond,
      at: position.at)
    check = state.reckoningCheck
  }
}
