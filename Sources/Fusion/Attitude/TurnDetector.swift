import Glibc

/// Tells a slow, steady turn from a gyroscope bias, while the sensor seems to lie still.
///
/// Both look alike to the gyroscope: a constant rate. Three things tell them apart.
///
/// 1. A bias that is known does not jump. A rate within the gate around the known bias is the bias.
/// 2. A turn moves gravity and the magnetic field in the sensor's axes, a bias moves neither. Once the
///    supposed turn should have moved one of them far enough to see, its share in what did move decides.
/// 3. About the vertical and without a magnetometer neither shows. Then the rate stays a turn until it
///    has lasted several times as long as the bias was observed before: what was learnt in a second
///    is corrected in seconds, what was learnt in a minute holds through a turn of some minutes.
///
/// Rates are in rad/s and in the sensor's axes.
struct TurnDetector: Sendable {
  enum Verdict: Equatable, Sendable {
    /// The rate is the bias.
    case rest
    /// The rate is the bias, which has jumped.
    case newBias
    /// The rate is, or may be, a rotation.
    case turn
  }

  private static let degree = Double.pi / 180
  /// The gate in standard deviations of the bias, and its least width.
  private static let gateSigmas = 3.0
  private static let leastGate = 0.1 * degree
  /// A rate that changes by more than this starts the evidence again.
  private static let steadiness = 0.2 * degree
  /// How far gravity (m/s²) and the magnetic field (microtesla) must have moved to count as evidence.
  private static let leastForceChange = 0.3
  private static let leastFieldChange = 3.0
  /// The share of the expected change that shows a turn, and the one that shows a bias.
  private static let turnShare = 0.7
  private static let restShare = 0.25
  /// A supposed turn by more than this starts the evidence again, radians.
  private static let longestTurn = 60 * degree
  /// The doubt of a bias lasts this many times longer than it was observed, within limits in seconds.
  private static let persistence = 7.0
  private static let leastDoubt = 4.0
  private static let longestDoubt = 300.0
  /// A large bias may itself have been a turn: a much smaller rate replaces it this many times sooner.
  private static let suspectBias = 1.5 * degree
  private static let suspicion = 10.0

  /// For how long the bias has been observed at rest, seconds.
  private var observedSeconds = 0.0
  private var doubtSeconds = 0.0
  /// Where the evidence starts: the steady rate, gravity and field; `nil` while the rate is the bias.
  private var anchor: (rate: SIMD3<Double>, force: SIMD3<Double>, field: SIMD3<Double>?)?
  /// The supposed turn since then, as a rotation vector.
  private var turned = SIMD3<Double>.zero

  /// Takes one sample while the sensor seems to lie still.
  ///
  /// - Parameters:
  ///   - rate: the gyroscope's mean
  ///   - bias, sigma: what is known of the bias, and its standard deviation
  ///   - force: the accelerometer's mean, m/s²
  ///   - field: the magnetometer's mean, microtesla; `nil` without one
  @inline(__always)
  mutating func update(
    rate: SIMD3<Double>, bias: SIMD3<Double>, variance: SIMD3<Double>, force: SIMD3<Double>, field: SIMD3<Double>?,
    seconds: Double
  ) -> Verdict {
    let excess = rate - bias
    let gate = TurnDetector.gateSigmas * TurnDetector.gateSigmas * max(variance.x, variance.y, variance.z)
    if dot(excess, excess) < max(gate, TurnDetector.leastGate * TurnDetector.leastGate) {
      observedSeconds += seconds
      doubtSeconds = 0
      anchor = nil
      return .rest
    }
    return judge(rate: rate, bias: bias, force: force, field: field, seconds: seconds)
  }

  /// The sensor moves, or nothing is known of how it moved.
  mutating func interrupt() {
    anchor = nil
    doubtSeconds = 0
  }

  private mutating func judge(
    rate: SIMD3<Double>, bias: SIMD3<Double>, force: SIMD3<Double>, field: SIMD3<Double>?, seconds: Double
  ) -> Verdict {
    guard let start = anchor, (rate - start.rate).length < TurnDetector.steadiness else {
      restart(rate, force, field)
      doubtSeconds = 0
      return .turn
    }
    turned += seconds * (rate - bias)
    doubtSeconds += seconds
    // What is fixed to the earth turns the other way in the sensor's axes.
    let turn = Quaternion(rotationVector: -turned)
    var share = TurnDetector.share(start.force, force, turn, least: TurnDetector.leastForceChange)
    if share == nil, let before = start.field, let field {
      share = TurnDetector.share(before, field, turn, least: TurnDetector.leastFieldChange)
    }
    if let share {
      restart(rate, force, field)
      if share < TurnDetector.restShare { return accept() }
      if share > TurnDetector.turnShare { doubtSeconds = 0 }
      return .turn
    }
    if turned.length > TurnDetector.longestTurn || (start.field == nil && field != nil) { restart(rate, force, field) }
    return doubtSeconds > patience(rate: rate, bias: bias) ? accept() : .turn
  }

  /// Which share of the change that a turn makes is seen; `nil` while that change is too small.
  private static func share(
    _ before: SIMD3<Double>, _ now: SIMD3<Double>, _ turn: Quaternion, least: Double
  ) -> Double? {
    let expected = turn.rotate(before) - before
    let square = dot(expected, expected)
    return square > least * least ? dot(now - before, expected) / square : nil
  }

  private func patience(rate: SIMD3<Double>, bias: SIMD3<Double>) -> Double {
    let isSuspect = bias.length > TurnDetector.suspectBias && rate.length < 0.5 * bias.length
    let observed = isSuspect ? observedSeconds / TurnDetector.suspicion : observedSeconds
    let wanted = TurnDetector.leastDoubt + TurnDetector.persistence * observed
    return min(wanted, TurnDetector.longestDoubt)
  }

  private mutating func accept() -> Verdict {
    observedSeconds = 0
    doubtSeconds = 0
    anchor = nil
    return .newBias
  }

  private mutating func restart(_ rate: SIMD3<Double>, _ force: SIMD3<Double>, _ field: SIMD3<Double>?) {
    anchor = (rate, force, field)
    turned = .zero
  }
}
