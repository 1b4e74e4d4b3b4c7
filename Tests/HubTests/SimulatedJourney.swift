import Fusion
import Glibc
import MonotonicTime
import TestSupport

@testable import Hub

/// A journey with known truth and a receiver that a schedule wakes, in steps of a tenth of a second.
///
/// It simulates only what the decision needs: the truth, dead reckoning with errors that match its sigmas, and starts
/// that take time.
struct SimulatedJourney {
  enum Kind: CaseIterable, Sendable {
    /// The vehicle stops at lights, sets off again, and turns.
    case city
    case motorway
    /// The vehicle stands, and a motion sensor detects nothing.
    case parked
    /// The vehicle has no satellites for half a minute of every four minutes.
    case tunnels
  }

  /// The results of a journey.
  struct Outcome {
    /// The share of the time for which the receiver was on.
    var onShare = 0.0
    /// The share of the time for which the error of the known position was less than the bound.
    var withinShare = 0.0
    var fixCount = 0
  }

  private static let step = 0.1
  private static let seconds = 3600.0
  /// The sigmas that the filter states after a fix.
  private static let (velocitySigma, inclinationSigma, fixSigma) = (0.15, 0.008, 3.0)
  private static let maximumLead = 6.5

  let kind: Kind
  let hasReckoning: Bool
  private var random: SeededRandom
  private var speed = 0.0
  private var phaseEnd = 0.0
  private var target = 0.0

  init(_ kind: Kind, hasReckoning: Bool, _ random: SeededRandom) {
    (self.kind, self.hasReckoning, self.random) = (kind, hasReckoning, random)
  }

  private mutating func normal(_ sigma: Double) -> Double {
    let (u, v) = (Double.random(in: 1e-12..<1, using: &random), Double.random(in: 0..<1, using: &random))
    return sigma * (-2 * log(u)).squareRoot() * cos(2 * .pi * v)
  }

  private mutating func drive(at now: Double) {
    if now >= phaseEnd {
      switch kind {
      case .parked: target = 0
      case .motorway: target = Double.random(in: 28...36, using: &random)
      case .city, .tunnels: target = target > 0 ? 0 : Double.random(in: 8...15, using: &random)
      }
      phaseEnd = now + Double.random(in: 15...60, using: &random)
    }
    let most = 1.5 * Self.step
    speed += max(-2 * most, min(most, target - speed))
  }

  private func isInTunnel(_ now: Double) -> Bool {
    kind == .tunnels && now.truncatingRemainder(dividingBy: 240) > 210
  }

  /// - Parameters:
  ///   - bound: in metres
  ///   - interval: the fixed time between two fixes; `nil` to let the bound decide
  mutating func run(bound metres: Double, interval: Double? = nil) -> Outcome {
    func at(_ seconds: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64((10 + seconds) * 1e9)) }
    var decision = ErrorBound(metres: metres, within: .seconds(60))
    var outcome = Outcome()
    var error = SIMD2<Double>.zero
    var velocityError = SIMD2<Double>.zero
    var accelerationError = SIMD2<Double>.zero
    var (onSince, takes) = (Double?.some(0), Double.random(in: 2...6, using: &random))
    var due = 0.0
    var fixAt = 0.0
    var sigma = Double.infinity
    var steps = 0
    var now = 0.0
    while now < Self.seconds {
      now += Self.step
      steps += 1
      drive(at: now)
      // The error of the known position grows until the next fix.
      velocityError += accelerationError * Self.step
      error += (hasReckoning || kind == .parked ? velocityError : SIMD2(speed, 0)) * Self.step
      if onSince != nil { outcome.onShare += 1 }
      if let since = onSince, now - since >= takes, !isInTunnel(now) {
        outcome.fixCount += 1
        (onSince, fixAt, sigma) = (nil, now, Self.fixSigma)
        error = SIMD2(normal(sigma), normal(sigma))
        let isStill = kind == .parked
        velocityError = isStill ? .zero : SIMD2(normal(Self.velocitySigma), normal(Self.velocitySigma))
        let tilt = 9.81 * Self.inclinationSigma
        accelerationError = isStill ? .zero : SIMD2(normal(tilt), normal(tilt))
        decision.receive(estimate(nil, sigma, after: 0, at: at(now)), at: at(now))
        due = now + (interval ?? decision.interval.inSeconds)
      } else if hasReckoning, kind != .parked, onSince == nil, interval == nil, steps.isMultiple(of: 10) {
        let estimate = estimate(decision, sigma, after: now - fixAt, at: at(now))
        if decision.review(estimate, lead: .seconds(Self.maximumLead), at: at(now)) {
          due = now + decision.interval.inSeconds
        }
      }
      if onSince == nil, now >= due - Self.maximumLead {
        (onSince, takes) = (now, now - fixAt < 1.5 ? 1 : Double.random(in: 2...6, using: &random))
      }
      if (error * error).sum().squareRoot() < metres { outcome.withinShare += 1 }
    }
    outcome.onShare /= Double(steps)
    outcome.withinShare /= Double(steps)
    return outcome
  }

  /// The estimate at this time after a fix.
  private func estimate(
    _ decision: ErrorBound?, _ sigma: Double, after seconds: Double, at now: MonotonicInstant
  ) -> ErrorBound.Estimate {
    let carrier: ErrorBound.Carrier =
      kind == .parked
      ? .stillness
      : hasReckoning
        ? .reckoning(
          sigmaMetresPerSecond: Self.velocitySigma + 9.81 * Self.inclinationSigma * seconds,
          inclinationSigmaRadians: Self.inclinationSigma) : .nothing
    let first = ErrorBound.Estimate(
      sigmaMetres: sigma,
      carrier: hasReckoning
        ? .reckoning(
          sigmaMetresPerSecond: Self.velocitySigma, inclinationSigmaRadians: Self.inclinationSigma) : .nothing,
      speedMetresPerSecond: speed, at: now)
    let grown = decision.map { $0.growth(of: first).sigma(after: seconds) } ?? sigma
    return ErrorBound.Estimate(sigmaMetres: grown, carrier: carrier, speedMetresPerSecond: speed, at: now)
  }
}
