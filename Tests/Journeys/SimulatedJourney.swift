import Fusion
import Glibc
import Hub
import MonotonicTime
import TestSupport

/// A journey with known truth and a receiver that a schedule wakes, in steps of a tenth of a second.
///
/// It simulates only what the decision needs: the truth, dead reckoning with errors that match its sigmas or exceed
/// them, and starts that take time.
public struct SimulatedJourney {
  public enum Kind: CaseIterable, Sendable {
    /// The vehicle stops at lights, sets off again, and turns.
    case city
    case motorway
    /// The vehicle stands, and a motion sensor detects nothing.
    case parked
    /// The vehicle has no satellites for half a minute of every four minutes.
    case tunnels
    /// The vehicle drives for some minutes, and stands for longer. A motion sensor detects when it sets off.
    case errands
  }

  /// The source of knowledge between two fixes.
  private enum Carrier { case stillness, reckoning, nothing }

  private static let step = 0.1
  private static let seconds = 3600.0
  /// The sigmas that the filter states after a fix.
  private static let (velocitySigma, inclinationSigma, fixSigma) = (0.15, 0.008, 3.0)
  private static let maximumLead = 6.5

  let kind: Kind
  let hasReckoning: Bool
  /// The errors of dead reckoning as a multiple of its sigmas.
  let errorRatio: Double
  private var random: SeededRandom
  private var speed = 0.0
  private var standingSince: Double? = 0
  private var phaseEnd = 0.0
  private var driveEnd = 0.0
  private var target = 0.0

  public init(_ kind: Kind, hasReckoning: Bool, errorRatio: Double = 1, _ random: SeededRandom) {
    (self.kind, self.hasReckoning, self.errorRatio, self.random) = (kind, hasReckoning, errorRatio, random)
  }

  /// The outcome of fifty journeys of an hour.
  public static func fifty(
    _ kind: Kind, hasReckoning: Bool, errorRatio: Double = 1, bound: Double = 25, _ times: FixTimes = .bounded
  ) -> JourneyOutcome {
    JourneyOutcome(
      (0..<50).map { number in
        let random = SeededRandom(seed: UInt64(number))
        var journey = SimulatedJourney(kind, hasReckoning: hasReckoning, errorRatio: errorRatio, random)
        return journey.run(bound: bound, times)
      })
  }

  private mutating func normal(_ sigma: Double) -> Double { random.normal(sigma) }

  private mutating func drive(at now: Double) {
    if now >= phaseEnd {
      phaseEnd = now + Double.random(in: 15...60, using: &random)
      switch kind {
      case .parked: target = 0
      case .motorway: target = Double.random(in: 28...36, using: &random)
      case .city, .tunnels: target = target > 0 ? 0 : Double.random(in: 8...15, using: &random)
      case .errands where now >= driveEnd:
        target = 0
        phaseEnd = now + Double.random(in: 900...1800, using: &random)
        driveEnd = phaseEnd + Double.random(in: 240...600, using: &random)
      case .errands: target = target > 0 ? 0 : Double.random(in: 8...15, using: &random)
      }
    }
    let most = 1.5 * Self.step
    speed += max(-2 * most, min(most, target - speed))
    standingSince = speed > 0 ? nil : standingSince ?? now
  }

  private func isInTunnel(_ now: Double) -> Bool {
    kind == .tunnels && now.truncatingRemainder(dividingBy: 240) > 210
  }

  /// The carrier after a fix. A motion sensor needs some seconds to know that the vehicle stands.
  private func carrier(at now: Double) -> Carrier {
    switch kind {
    case .parked: return .stillness
    case .errands: if let standingSince, now - standingSince >= 10 { return .stillness }
    case .city, .motorway, .tunnels: break
    }
    return hasReckoning ? .reckoning : .nothing
  }

  /// - Parameter bound: in metres
  public mutating func run(bound metres: Double, _ times: FixTimes = .bounded) -> JourneyOutcome {
    func at(_ seconds: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64((10 + seconds) * 1e9)) }
    var decision = ErrorBound(metres: metres, within: .seconds(60))
    var outcome = JourneyOutcome()
    let interval: Double? = if case .every(let seconds) = times { seconds } else { nil }
    var error = SIMD2<Double>.zero
    var errorOfLastFix = SIMD2<Double>.zero
    var velocityError = SIMD2<Double>.zero
    var accelerationError = SIMD2<Double>.zero
    var (onSince, takes) = (Double?.some(0), Double.random(in: 2...6, using: &random))
    var due = 0.0
    var fixAt = 0.0
    var sigma = Double.infinity
    var carrier = Carrier.nothing
    var steps = 0
    var now = 0.0
    while now < Self.seconds {
      now += Self.step
      steps += 1
      drive(at: now)
      // The error of the known position grows until the next fix.
      let way = SIMD2(speed, 0) * Self.step
      errorOfLastFix += way
      if carrier == .reckoning, kind != .errands || speed > 0 {
        velocityError += accelerationError * Self.step
        error += velocityError * Self.step
      } else if carrier != .reckoning {
        error += way
      }
      if onSince != nil { outcome.onTime += 1 }
      if let since = onSince, now - since >= takes, !isInTunnel(now) {
        outcome.fixCount += 1
        let fixError = SIMD2(normal(Self.fixSigma), normal(Self.fixSigma))
        var check: FusedState.ReckoningCheck?
        if carrier == .reckoning, fixAt > 0 {
          let stated = self.estimate(sigma, carrier, after: now - fixAt, at: at(now)).sigmaMetres
          let variance = 2 * (stated * stated + Self.fixSigma * Self.fixSigma)
          let offset = error - fixError
          check = FusedState.ReckoningCheck(at: at(now), ratio: ((offset * offset).sum() / variance).squareRoot())
        }
        (onSince, fixAt, sigma) = (nil, now, Self.fixSigma)
        error = fixError
        errorOfLastFix = error
        let velocity = errorRatio * Self.velocitySigma
        velocityError = SIMD2(normal(velocity), normal(velocity))
        let tilt = errorRatio * 9.81 * Self.inclinationSigma
        accelerationError = SIMD2(normal(tilt), normal(tilt))
        carrier = self.carrier(at: now)
        var estimate = estimate(sigma, carrier, after: 0, at: at(now))
        estimate.check = check
        decision.receive(estimate, at: at(now))
        // Without a decision there is no motion sensor to wait for, and dead reckoning continues all the time.
        if interval != nil, carrier == .stillness, hasReckoning, kind != .parked { carrier = .reckoning }
        due = now + (interval ?? decision.interval.inSeconds)
      } else if carrier == .reckoning, onSince == nil, interval == nil, steps.isMultiple(of: 10) {
        let estimate = estimate(sigma, carrier, after: now - fixAt, at: at(now))
        if decision.review(estimate, lead: .seconds(Self.maximumLead), at: at(now)) {
          due = now + decision.interval.inSeconds
        }
      }
      // A motion sensor wakes the receiver at once.
      if carrier == .stillness, speed > 0, kind == .errands { due = min(due, now) }
      if onSince == nil, now >= due - Self.maximumLead {
        (onSince, takes) = (now, now - fixAt < 1.5 ? 1 : Double.random(in: 2...6, using: &random))
      }
      outcome.time += 1
      guard steps.isMultiple(of: 10) else { continue }
      outcome.errors.add((error * error).sum().squareRoot())
      outcome.errorsOfLastFix.add((errorOfLastFix * errorOfLastFix).sum().squareRoot())
    }
    return outcome
  }

  /// The estimate at this time after a fix of some sigma.
  private func estimate(
    _ sigma: Double, _ carrier: Carrier, after seconds: Double, at now: MonotonicInstant
  ) -> ErrorBound.Estimate {
    func reckoning(_ seconds: Double) -> ErrorBound.Carrier {
      .reckoning(
        sigmaMetresPerSecond: Self.velocitySigma + 9.81 * Self.inclinationSigma * seconds,
        inclinationSigmaRadians: Self.inclinationSigma)
    }
    let present: ErrorBound.Carrier =
      switch carrier {
      case .stillness: .stillness
      case .reckoning: reckoning(seconds)
      case .nothing: .nothing
      }
    let first = ErrorBound.Estimate(
      sigmaMetres: sigma, carrier: hasReckoning ? reckoning(0) : .nothing, speedMetresPerSecond: speed, at: now)
    // A new decision has learnt nothing about dead reckoning, so this is the sigma that the filter states.
    let grown = ErrorBound(metres: 1, within: .zero).growth(of: first).sigma(after: seconds)
    return ErrorBound.Estimate(sigmaMetres: grown, carrier: present, speedMetresPerSecond: speed, at: now)
  }
}

extension SeededRandom {
  /// A normally distributed number.
  mutating func normal(_ sigma: Double) -> Double {
    let (u, v) = (Double.random(in: 1e-12..<1, using: &self), Double.random(in: 0..<1, using: &self))
    return sigma * (-2 * log(u)).squareRoot() * cos(2 * .pi * v)
  }
}
