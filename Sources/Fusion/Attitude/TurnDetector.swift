import Glibc

/// Distinguishes a slow, steady turn from a gyroscope bias while the sensor appears to be at rest.
///
/// Both look the same to the gyroscope: a constant rate. Three criteria separate them.
///
/// 1. A known bias does not jump. A rate close to the known bias is the bias.
/// 2. A turn moves gravity and the magnetic field in the sensor's axes; a bias moves neither. The detector computes how
///    far the supposed turn would have moved each of them. Once that movement is measurable, the share of it that was
///    observed decides.
/// 3. About the vertical, and without a magnetometer, neither is observable. The rate then counts as a turn until it
///    has lasted several times as long as the bias was observed before. A bias observed for a second is corrected
///    within 11 s; a bias observed for a minute persists through a turn of five minutes.
///
/// Rates are in rad/s, in the sensor's axes.
struct TurnDetector: Sendable {
  enum Verdict: Equatable, Sendable {
    /// The rate is the bias.
    case rest
    /// The rate is the bias, which has jumped.
    case newBias
    /// The rate is a rotation, or may be one.
    case turn
  }

  private static let degree = Double.pi / 180
  /// A rate within this number of standard deviations of the bias counts as the bias.
  private static let gateSigmas = 3.0
  /// A rate within this distance of the bias counts as the bias, however small the standard deviation is.
  private static let leastGate = 0.1 * degree
  /// A change of the rate by more than this restarts the observation.
  private static let steadiness = 0.2 * degree
  /// A turn must be able to move gravity this far, in m/s², before gravity counts as evidence.
  private static let leastForceChange = 0.3
  /// A turn must be able to move the magnetic field this far, in microtesla, before the field counts as evidence.
  private static let leastFieldChange = 3.0
  /// Above this share of the expected movement, the rate is a turn.
  private static let turnShare = 0.7
  /// Below this share of the expected movement, the rate is a bias.
  private static let restShare = 0.25
  /// A supposed turn of more than this many radians restarts the observation.
  private static let longestTurn = 60 * degree
  /// A changed rate is doubted for `leastDoubt` seconds, and in addition for this multiple of the time for which the
  /// bias was observed.
  private static let persistence = 7.0
  private static let leastDoubt = 4.0
  /// The longest doubt in seconds.
  private static let longestDoubt = 300.0
  /// A bias above this may itself have been a turn.
  private static let suspectBias = 1.5 * degree
  /// The time for which a bias above `suspectBias` was observed is divided by this factor. A much smaller rate then
  /// replaces the bias sooner.
  private static let suspicion = 10.0

  /// How long the bias has been observed at rest, in seconds.
  private var observedSeconds = 0.0
  private var doubtSeconds = 0.0
  /// The start of the observation: the steady rate, gravity and field; `nil` while the rate is the bias.
  private var anchor: (rate: SIMD3<Double>, force: SIMD3<Double>, field: SIMD3<Double>?)?
  /// The supposed turn since the start of the observation, as a rotation vector.
  private var turned = SIMD3<Double>.zero

  /// Processes one sample while the sensor appears to be at rest.
  ///
  /// - Parameters:
  ///   - rate: the mean of the gyroscope
  ///   - bias, variance: the estimated bias and its variance
  ///   - force: the mean of the accelerometer, m/s²
  ///   - field: the mean of the magnetometer, microtesla; `nil` without one
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

  /// Ends the observation because the sensor moves, or its motion is unknown.
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
    // A vector fixed to the earth rotates the opposite way in the sensor's axes.
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

  /// The observed share of the movement that a turn would cause; `nil` while that movement is too small.
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
