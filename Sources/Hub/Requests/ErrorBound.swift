import Fusion
import MonotonicTime

/// Decides when the next fix is needed, so that the position stays within a bound of the truth. It only decides: no clock, no lease.
///
/// The bound is that of `accuracy`: the radius within which 95 % of such positions are. So the sigma, which is of one axis, stays below
/// the bound divided by `Confidence.radial`.
///
/// `ScheduledFixes` wakes the receiver before that instant, as early as its starts have taken. How long that is depends on what carries
/// the position in the meantime: a motion sensor that feels nothing, dead reckoning, or nothing but the last speed.
struct ErrorBound: Sendable {
  /// As fast as a car sets off in a city, m/s².
  static let usualAcceleration = 1.5
  /// As fast as a person walks: a board that was never seen to move may be carried away.
  static let leastSpeed = 2.0
  /// A board that was as fast as this within this time may be again.
  static let memory = Duration.seconds(15 * 60)
  /// The longest from one look to the next, seconds.
  static let longest = 6 * 3600.0
  /// The part of the bound that a fix itself may take, so that some is left for the time after it.
  static let shareOfFix = 0.5
  /// The sigma that a sensor itself has in a velocity that it integrates, m/s²: what is left of its bias.
  static let leastReckonedAcceleration = 0.02
  private static let leastInterval = Duration.seconds(1)
  /// The prediction of dead reckoning changes with each state; the schedule follows where it is off by this share.
  private static let tolerance = 0.1

  /// What carries the position on.
  enum Carrier: Equatable, Sendable {
    /// A motion sensor, which has felt nothing since.
    case stillness
    /// Dead reckoning: the sigma of its velocity along one axis, and that of roll and pitch, which turns gravity into acceleration.
    case reckoning(sigmaMetresPerSecond: Double, inclinationSigmaRadians: Double)
    /// Nothing: the position stays where it was, and the board goes on.
    case nothing
  }

  /// A position, as it is known at an instant.
  struct Estimate: Equatable, Sendable {
    var sigmaMetres: Double
    var carrier: Carrier
    /// Over ground; `nil` if unknown.
    var speedMetresPerSecond: Double?
    var at: MonotonicInstant
  }

  let metres: Double
  let within: Duration
  private var sigmaLimit: Double { metres / Confidence.radial }
  /// The highest speeds that were seen, each with its instant, falling.
  private var speeds: [(metresPerSecond: Double, at: MonotonicInstant)] = []
  /// From the last decision until the next fix is needed.
  private(set) var interval = ErrorBound.leastInterval
  /// When that is; `nil` before the first fix.
  private(set) var dueAt: MonotonicInstant?

  init(metres: Double, within: Duration) {
    self.metres = metres
    self.within = within
  }

  /// How the next fix is asked for.
  var schedule: Schedule {
    let radius = metres * ErrorBound.shareOfFix
    let limits = Schedule.accuracyMetres
    return Schedule(
      every: interval, accuracyMetres: min(max(radius, limits.lowerBound), limits.upperBound), within: within)
  }

  /// A fix was delivered, or time ran out; `nil` if there is no position.
  mutating func receive(_ estimate: Estimate?, at now: MonotonicInstant) {
    if let speed = estimate?.speedMetresPerSecond { note(speed, at: now) }
    interval = estimate.map { time(of: $0, at: now) } ?? ErrorBound.leastInterval
    dueAt = now + interval
  }

  /// Dead reckoning goes on between two fixes, and tells by now how certain it is.
  ///
  /// - Parameter lead: how early the receiver is woken: what is under way is left alone
  /// - Returns: whether the next fix is due at another time
  mutating func review(_ estimate: Estimate, lead: Duration, at now: MonotonicInstant) -> Bool {
    guard let dueAt, now + lead + ErrorBound.leastInterval < dueAt else { return false }
    let next = max(time(of: estimate, at: now), lead + ErrorBound.leastInterval)
    let planned = dueAt - now
    guard abs((next - planned).inSeconds) > max(1, ErrorBound.tolerance * planned.inSeconds) else { return false }
    interval = next
    self.dueAt = now + next
    return true
  }

  /// How the sigma grows from an estimate on.
  func growth(of estimate: Estimate) -> SigmaGrowth {
    switch estimate.carrier {
    case .stillness: return .still(sigmaMetres: estimate.sigmaMetres)
    case .reckoning(let velocity, let inclination):
      return SigmaGrowth(
        sigmaMetres: estimate.sigmaMetres, metresPerSecond: velocity,
        metresPerSecondSquared: max(ErrorBound.leastReckonedAcceleration, 9.81 * inclination))
    case .nothing:
      let most = max(ErrorBound.leastSpeed, 1.25 * (speeds.first?.metresPerSecond ?? 0))
      return SigmaGrowth(
        sigmaMetres: estimate.sigmaMetres, metresPerSecond: min(estimate.speedMetresPerSecond ?? most, most),
        metresPerSecondSquared: ErrorBound.usualAcceleration, mostMetresPerSecond: most)
    }
  }

  private func time(of estimate: Estimate, at now: MonotonicInstant) -> Duration {
    // A position that stands is given again only while it is as good as one must be.
    let isStill = estimate.carrier == .stillness
    let seconds = growth(of: estimate).seconds(
      until: isStill ? sigmaLimit * ErrorBound.shareOfFix : sigmaLimit, atMost: ErrorBound.longest)
    // A fix that came early has waited for its time. One that stands has its sigma of now.
    let passed = isStill ? 0 : max(0, now.seconds(since: estimate.at))
    return max(ErrorBound.leastInterval, .nanoseconds(Int64((seconds - passed) * 1e9)))
  }

  /// Keeps the highest speed of the last time, and those that will be the highest once it is too old.
  private mutating func note(_ speed: Double, at now: MonotonicInstant) {
    speeds.removeAll { $0.metresPerSecond <= speed || now - $0.at > ErrorBound.memory }
    // Falling from the first to this one, which is the lowest of all that count.
    speeds.append((speed, now))
  }
}

extension ErrorBound.Estimate {
  /// Of a state; `nil` without a position whose certainty is known.
  ///
  /// - Parameter isStill: a motion sensor has felt nothing since the position was measured
  init?(_ state: FusedState, isStill: Bool) {
    guard let position = state.position, let sigma = position.value.horizontalSigmaMetres else { return nil }
    let motion = state.motion?.value
    let carrier: ErrorBound.Carrier
    if isStill {
      carrier = .stillness
    } else if state.mode == .fused || state.mode == .deadReckoning, let attitude = state.attitude?.value,
      let velocity = motion?.horizontalSigmaMetresPerSecond
    {
      carrier = .reckoning(
        sigmaMetresPerSecond: velocity, inclinationSigmaRadians: attitude.inclinationSigmaRadians)
    } else {
      carrier = .nothing
    }
    self.init(
      sigmaMetres: sigma, carrier: carrier, speedMetresPerSecond: motion?.speedMetresPerSecond, at: position.at)
  }
}
