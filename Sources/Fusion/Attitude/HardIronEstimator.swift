import Glibc

/// Estimates the field of magnets that are fixed to the sensor (hard iron) while the sensor rotates.
///
/// In the nearly inertial frame of equation (3) of `OrientationFilter`, the earth's field is constant except for a slow
/// drift. The hard-iron field rotates with the sensor. The mean of a few rotated measurements is therefore the mean
/// rotation times the hard iron, plus the earth's field. A Kalman filter of six states separates the two. A magnet that
/// the sensor only passes does not fit this model. The filter then explains the measurements no better than a filter
/// without hard iron does. The hard iron is used only while the filter explains the measurements much better with it.
struct HardIronEstimator: Sendable {
  // Units: microtesla and seconds.
  private static let initialSigma = 20.0
  /// The random walk of the hard iron per √s.
  private static let hardIronWander = 0.02
  /// The random walk of the earth's field per √s, in the drifting frame.
  private static let fieldWander = 2.0
  private static let measurementSigma = 3.0
  /// The additional random walk of the hard iron per √s while the squared innovations with hard iron are more than 1.5
  /// times those without it. It makes the filter forget the hard iron.
  private static let forgettingWander = 10.0
  private static let windowDuration = 0.035
  private static let evidenceTimeConstant = 5.0
  /// The hard iron is used once the squared innovations with it are below this share of the squared innovations without
  /// it.
  private static let acceptanceRatio = 0.3
  /// The hard iron is dropped once the squared innovations with it are above this share of the squared innovations
  /// without it.
  private static let rejectionRatio = 0.6
  private static let smallestHardIron = 4.0
  /// An estimate with a larger sigma is not used, because it could turn the heading the wrong way.
  private static let largestSigma = 4.0
  /// The rotation rate in rad/s below which the two fields cannot be separated.
  private static let minimumRate = 0.35

  private let windowCount: Int
  private let windowSeconds: Double
  private let evidenceGain: Double

  private var rotationSum = Matrix3.zero
  private var fieldSum = SIMD3<Double>.zero
  private var rateSum = 0.0
  private var count = 0

  private var hardIron = SIMD3<Double>.zero
  /// The field in the nearly inertial frame.
  private var field = SIMD3<Double>.zero
  private var hardIronCovariance: Matrix3
  private var crossCovariance = Matrix3.zero
  private var fieldCovariance: Matrix3
  /// The field in the nearly inertial frame, as the filter without hard iron estimates it.
  private var plainField = SIMD3<Double>.zero
  /// The variance of `plainField`.
  private var plainVariance: Double
  /// The mean squared innovation during rotations, with hard iron.
  private var surprise = 0.0
  /// The mean squared innovation during rotations, without hard iron.
  private var plainSurprise = 0.0
  private(set) var isUsed = false

  init(interval: Double) {
    let unknown = 100.0 * 100
    windowCount = max(1, Int((HardIronEstimator.windowDuration / interval).rounded()))
    windowSeconds = Double(windowCount) * interval
    evidenceGain = min(1, windowSeconds / HardIronEstimator.evidenceTimeConstant)
    let initial = HardIronEstimator.initialSigma * HardIronEstimator.initialSigma
    hardIronCovariance = Matrix3(diagonal: SIMD3(repeating: initial))
    fieldCovariance = Matrix3(diagonal: SIMD3(repeating: unknown))
    plainVariance = unknown
  }

  /// The field to subtract from measurements, in microtesla in the sensor's axes; zero unless there is evidence of
  /// hard iron.
  var correction: SIMD3<Double> { isUsed ? hardIron : .zero }

  /// Updates the estimate with a measurement.
  ///
  /// - Parameters:
  ///   - rotated: the measurement in the nearly inertial frame
  ///   - rotation: the rotation from the sensor's axes to that frame
  ///   - rate: the rotation rate of the sensor, rad/s
  /// - Returns: the earth's field in the nearly inertial frame if hard iron has just been found or lost
  @inline(__always)
  mutating func update(rotated: SIMD3<Double>, rotation: Matrix3, rate: Double) -> SIMD3<Double>? {
    rotationSum = rotationSum + rotation
    fieldSum += rotated
    rateSum += rate
    count += 1
    guard count == windowCount else { return nil }
    return endWindow()
  }

  private mutating func endWindow() -> SIMD3<Double>? {
    let scale = 1 / Double(count)
    let a = scale * rotationSum
    let measured = scale * fieldSum
    let isTurning = rateSum * scale > HardIronEstimator.minimumRate
    rotationSum = .zero
    fieldSum = .zero
    rateSum = 0
    count = 0

    // Prediction: both fields follow a random walk.
    func grow(_ covariance: inout Matrix3, _ wander: Double) {
      let variance = wander * wander * windowSeconds
      covariance.rows.0.x += variance
      covariance.rows.1.y += variance
      covariance.rows.2.z += variance
    }
    grow(&hardIronCovariance, HardIronEstimator.hardIronWander)
    grow(&fieldCovariance, HardIronEstimator.fieldWander)
    plainVariance += HardIronEstimator.fieldWander * HardIronEstimator.fieldWander * windowSeconds

    let noise = HardIronEstimator.measurementSigma * HardIronEstimator.measurementSigma
    let innovation = measured - (a * hardIron + field)
    let plainInnovation = measured - plainField
    // H = [A, 1]; the two halves of P H'.
    let upper = hardIronCovariance * a.transposed + crossCovariance
    let lower = crossCovariance.transposed * a.transposed + fieldCovariance
    guard let inverse = (a * upper + lower + Matrix3(diagonal: SIMD3(repeating: noise))).symmetrized.inverse else {
      return nil
    }
    let gain = upper * inverse
    let fieldGain = lower * inverse
    hardIron += gain * innovation
    field += fieldGain * innovation
    hardIronCovariance = (hardIronCovariance - gain * upper.transposed).symmetrized
    crossCovariance = crossCovariance - gain * lower.transposed
    fieldCovariance = (fieldCovariance - fieldGain * lower.transposed).symmetrized
    let plainGain = plainVariance / (plainVariance + noise)
    plainField += plainGain * plainInnovation
    plainVariance *= 1 - plainGain

    guard isTurning else { return nil }
    surprise += evidenceGain * (dot(innovation, innovation) - surprise)
    plainSurprise += evidenceGain * (dot(plainInnovation, plainInnovation) - plainSurprise)
    if surprise > 1.5 * plainSurprise { grow(&hardIronCovariance, HardIronEstimator.forgettingWander) }
    let ratio = isUsed ? HardIronEstimator.rejectionRatio : HardIronEstimator.acceptanceRatio
    let isCertain =
      isUsed || hardIronCovariance.diagonal.max() < HardIronEstimator.largestSigma * HardIronEstimator.largestSigma
    let isBetter =
      surprise < ratio * plainSurprise && hardIron.length > HardIronEstimator.smallestHardIron && isCertain
    guard isBetter != isUsed else { return nil }
    isUsed = isBetter
    return isUsed ? field : plainField
  }
}
