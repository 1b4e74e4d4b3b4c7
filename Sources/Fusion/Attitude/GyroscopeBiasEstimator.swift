import Glibc

/// Estimates the gyroscope bias with a Kalman filter of three states.
///
/// At rest, the gyroscope shows its bias directly. In motion, the bias makes the inclination drift. The correction
/// that the accelerometer requires with each sample is therefore the bias, rotated into the earth frame and low-pass
/// filtered like the accelerometer. The bias about the vertical cannot be observed in motion; a weak pull towards
/// zero keeps it from drifting.
struct GyroscopeBiasEstimator: Sendable {
  private static let degree = Double.pi / 180
  private static let initialSigma = 0.5 * degree
  /// The time, in seconds, in which the bias may change by 0.1 °/s.
  private static let forgettingTime = 100.0
  private static let motionSigma = 0.1 * degree
  private static let restSigma = 0.03 * degree
  private static let verticalForgettingFactor = 1e-4

  private let processVariance: Double
  private let motionWeights: SIMD3<Double>
  private let restWeight: Double
  private let initialVariance = initialSigma * initialSigma
  private let limit: Double

  /// The bias in rad/s, in the sensor's axes.
  private(set) var bias = SIMD3<Double>.zero
  private(set) var covariance: Matrix3
  /// The rotation to the earth frame, row by row, and the bias in that frame. Both are filtered like the accelerometer.
  private var filteredRotation = (LowPassFilter(), LowPassFilter(), LowPassFilter())
  private var filteredBias = LowPassFilter()

  /// - Parameters:
  ///   - limit: the largest bias of this kind of sensor, rad/s
  ///   - interval: the time between samples, seconds
  init(limit: Double, interval: Double) {
    self.limit = limit
    let wander = 0.1 * GyroscopeBiasEstimator.degree
    processVariance = wander * wander * interval / GyroscopeBiasEstimator.forgettingTime
    covariance = Matrix3(
      diagonal: SIMD3(repeating: GyroscopeBiasEstimator.initialSigma * GyroscopeBiasEstimator.initialSigma))
    // The weight at which the variance settles at the desired value p, with the process variance q: w = p² / q + p.
    let motion = GyroscopeBiasEstimator.motionSigma * GyroscopeBiasEstimator.motionSigma
    let motionWeight = motion * motion / processVariance + motion
    motionWeights = SIMD3(motionWeight, motionWeight, motionWeight / GyroscopeBiasEstimator.verticalForgettingFactor)
    let rest = GyroscopeBiasEstimator.restSigma * GyroscopeBiasEstimator.restSigma
    restWeight = rest * rest / processVariance + rest
  }

  /// Starts with a bias known from another source and its sigma, both in rad/s.
  mutating func begin(with bias: SIMD3<Double>, sigma: Double) {
    self.bias = bias.clamped(to: limit)
    covariance = Matrix3(diagonal: SIMD3(repeating: sigma * sigma))
  }

  /// Starts again after the bias has jumped, which invalidates the previous estimate.
  mutating func restart(at bias: SIMD3<Double>) {
    begin(with: bias, sigma: GyroscopeBiasEstimator.initialSigma)
  }

  /// Resets the filters that are used in motion. Call this when the accelerometer's filter is reset.
  mutating func resetMotion() {
    filteredRotation = (LowPassFilter(), LowPassFilter(), LowPassFilter())
    filteredBias.reset()
  }

  /// Updates the estimate with one sample.
  ///
  /// - Parameters:
  ///   - rotation: the rotation from the sensor's axes to (approximately) the earth frame
  ///   - tilt: the inclination error seen by the accelerometer, as a rate about the earth's axes, rad/s
  ///   - restRate: the mean of the gyroscope while the sensor is at rest, otherwise `nil`
  ///   - coefficients: the accelerometer's filter
  @inline(__always)
  mutating func update(
    rotation: Matrix3, tilt: SIMD3<Double>, restRate: SIMD3<Double>?, _ coefficients: LowPassFilter.Coefficients
  ) {
    filteredRotation.0.update(rotation.rows.0, coefficients)
    filteredRotation.1.update(rotation.rows.1, coefficients)
    filteredRotation.2.update(rotation.rows.2, coefficients)
    filteredBias.update(rotation * bias, coefficients)

    // The variance of each component grows with each sample, up to its initial value.
    let grown = covariance.diagonal
    if grown.x < initialVariance { covariance.rows.0.x += processVariance }
    if grown.y < initialVariance { covariance.rows.1.y += processVariance }
    if grown.z < initialVariance { covariance.rows.2.z += processVariance }

    // The three components have independent errors, so they are applied one after the other, which needs no inverse.
    var change = SIMD3<Double>.zero
    if let restRate {
      let error = (restRate - bias).clamped(to: limit)
      correct(&change, error.x, seen: covariance.rows.0, variance: covariance.rows.0.x + restWeight, along: change.x)
      correct(&change, error.y, seen: covariance.rows.1, variance: covariance.rows.1.y + restWeight, along: change.y)
      correct(&change, error.z, seen: covariance.rows.2, variance: covariance.rows.2.z + restWeight, along: change.z)
    } else {
      let matrix = Matrix3(filteredRotation.0.value, filteredRotation.1.value, filteredRotation.2.value)
      let seen = filteredBias.value
      let expected = matrix * bias
      let error = SIMD3(tilt.x + seen.x - expected.x, tilt.y + seen.y - expected.y, -expected.z).clamped(to: limit)
      correct(&change, error.x, matrix.rows.0, weight: motionWeights.x)
      correct(&change, error.y, matrix.rows.1, weight: motionWeights.y)
      correct(&change, error.z, matrix.rows.2, weight: motionWeights.z)
    }
    bias = (bias + change).clamped(to: limit)
    covariance = covariance.symmetrized
  }

  /// Applies the error that was observed along one direction.
  @inline(__always)
  private mutating func correct(
    _ change: inout SIMD3<Double>, _ error: Double, _ direction: SIMD3<Double>, weight: Double
  ) {
    // P is symmetric, so the sum of its rows is P h.
    let seen = covariance.combined(direction)
    correct(&change, error, seen: seen, variance: dot(direction, seen) + weight, along: dot(direction, change))
  }

  /// - Parameters:
  ///   - change: the sum of the corrections of this sample up to now, which explains a part of the error
  ///   - seen: P h, for the observed direction h
  ///   - variance: the variance of the error: h' P h plus the weight
  ///   - along: the component of `change` in the observed direction
  @inline(__always)
  private mutating func correct(
    _ change: inout SIMD3<Double>, _ error: Double, seen: SIMD3<Double>, variance: Double, along: Double
  ) {
    // K = P h / s, then P - K (P h)'.
    let gain = seen / variance
    change += (error - along) * gain
    covariance.rows.0 -= gain.x * seen
    covariance.rows.1 -= gain.y * seen
    covariance.rows.2 -= gain.z * seen
  }
}
