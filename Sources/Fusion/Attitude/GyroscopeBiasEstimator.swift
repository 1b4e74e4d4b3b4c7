import Glibc

/// Estimates the gyroscope's bias with a Kalman filter of three states.
///
/// At rest the bias is what the gyroscope shows. In motion it is what makes the inclination drift: the correction that
/// the accelerometer demands of every sample is the bias, turned into the earth frame and low-pass filtered as the
/// accelerometer is. About the vertical nothing is seen in motion; a weak pull to zero keeps that part from wandering.
struct GyroscopeBiasEstimator: Sendable {
  private static let degree = Double.pi / 180
  private static let initialSigma = 0.5 * degree
  /// The time in which the bias may wander by 0.1 degree per second.
  private static let forgettingTime = 100.0
  private static let motionSigma = 0.1 * degree
  private static let restSigma = 0.03 * degree
  private static let verticalForgettingFactor = 1e-4

  private let processVariance: Double
  private let motionWeights: SIMD3<Double>
  private let restWeight: Double
  private let initialVariance = initialSigma * initialSigma
  private let limit: Double

  /// rad/s, in the sensor's axes.
  private(set) var bias = SIMD3<Double>.zero
  private(set) var covariance: Matrix3
  /// The rotation to the earth frame, row by row, and the bias in that frame, filtered as the accelerometer is.
  private var filteredRotation = (LowPassFilter(), LowPassFilter(), LowPassFilter())
  private var filteredBias = LowPassFilter()

  /// - Parameters:
  ///   - limit: the largest bias of this kind of sensor, rad/s
  ///   - interval: between samples, seconds
  init(limit: Double, interval: Double) {
    self.limit = limit
    let wander = 0.1 * GyroscopeBiasEstimator.degree
    processVariance = wander * wander * interval / GyroscopeBiasEstimator.forgettingTime
    covariance = Matrix3(
      diagonal: SIMD3(repeating: GyroscopeBiasEstimator.initialSigma * GyroscopeBiasEstimator.initialSigma))
    // The weight with which the estimate settles at the wanted sigma: w = p^2 / q + p.
    let motion = GyroscopeBiasEstimator.motionSigma * GyroscopeBiasEstimator.motionSigma
    let motionWeight = motion * motion / processVariance + motion
    motionWeights = SIMD3(motionWeight, motionWeight, motionWeight / GyroscopeBiasEstimator.verticalForgettingFactor)
    let rest = GyroscopeBiasEstimator.restSigma * GyroscopeBiasEstimator.restSigma
    restWeight = rest * rest / processVariance + rest
  }

  /// Starts with a bias that is known from elsewhere.
  mutating func begin(with bias: SIMD3<Double>, sigma: Double) {
    self.bias = bias.clamped(to: limit)
    covariance = Matrix3(diagonal: SIMD3(repeating: sigma * sigma))
  }

  /// The bias has jumped: what was known of it holds no longer.
  mutating func restart(at bias: SIMD3<Double>) {
    begin(with: bias, sigma: GyroscopeBiasEstimator.initialSigma)
  }

  /// The motion's filters start afresh, as the accelerometer's does.
  mutating func resetMotion() {
    filteredRotation = (LowPassFilter(), LowPassFilter(), LowPassFilter())
    filteredBias.reset()
  }

  /// Takes one sample's evidence.
  ///
  /// - Parameters:
  ///   - rotation: sensor to (nearly) earth
  ///   - tilt: the inclination error that the accelerometer showed, as a rate about the earth's axes, rad/s
  ///   - restRate: the gyroscope's mean while the sensor lies still, else `nil`
  ///   - coefficients: the accelerometer's filter
  @inline(__always)
  mutating func update(
    rotation: Matrix3, tilt: SIMD3<Double>, restRate: SIMD3<Double>?, _ coefficients: LowPassFilter.Coefficients
  ) {
    filteredRotation.0.update(rotation.rows.0, coefficients)
    filteredRotation.1.update(rotation.rows.1, coefficients)
    filteredRotation.2.update(rotation.rows.2, coefficients)
    filteredBias.update(rotation * bias, coefficients)

    // Uncertainty grows while nothing is seen, up to what it was at the start.
    let grown = covariance.diagonal
    if grown.x < initialVariance { covariance.rows.0.x += processVariance }
    if grown.y < initialVariance { covariance.rows.1.y += processVariance }
    if grown.z < initialVariance { covariance.rows.2.z += processVariance }

    if let restRate {
      correct(error: restRate - bias, observing: nil, weights: SIMD3(repeating: restWeight))
    } else {
      let matrix = Matrix3(filteredRotation.0.value, filteredRotation.1.value, filteredRotation.2.value)
      let seen = filteredBias.value
      let expected = matrix * bias
      let error = SIMD3(tilt.x + seen.x - expected.x, tilt.y + seen.y - expected.y, -expected.z)
      correct(error: error, observing: matrix, weights: motionWeights)
    }
  }

  /// - Parameter matrix: what of the bias is observed; `nil` for all of it
  @inline(__always)
  private mutating func correct(error: SIMD3<Double>, observing matrix: Matrix3?, weights: SIMD3<Double>) {
    let error = error.clamped(to: limit)
    // H P, and by the symmetry of P also the transpose of P H'.
    let hp = matrix.map { $0 * covariance } ?? covariance
    var s = matrix.map { hp * $0.transposed } ?? covariance
    s.rows.0.x += weights.x
    s.rows.1.y += weights.y
    s.rows.2.z += weights.z
    guard let inverse = s.inverse else { return }
    // K = P H' S^-1, and P - K H P.
    let gain = hp.transposed * inverse
    bias = (bias + gain * error).clamped(to: limit)
    covariance = (covariance - gain * hp).symmetrized
  }
}
