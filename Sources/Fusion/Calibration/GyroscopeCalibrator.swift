/// Determines the gyroscope bias as the mean rate while the sensor is at rest for ten seconds.
///
/// A slow, steady turn looks like a bias. Gravity reveals a turn about a horizontal axis, and a magnetometer reveals
/// one about the vertical. Without a magnetometer, a rate about the vertical that exceeds the bias of any good
/// gyroscope must persist for two minutes.
public struct GyroscopeCalibrator: Sendable {
  private static let degree = 3.141_592_653_589_793 / 180
  private static let neededSeconds = 10.0
  /// The required duration of rest, in seconds, if a turn cannot be excluded.
  private static let unprovenSeconds = 120.0
  /// The rate about the vertical, in rad/s, up to which a bias is accepted without proof.
  private static let credibleRate = 0.3 * degree
  /// The largest change of the rate between the windows of one rest, in rad/s.
  private static let steadiness = 0.2 * degree
  /// The allowance for noise, in standard deviations of the mean over half a second.
  private static let noiseSigmas = 4.0
  /// How far gravity may change during the rest, in m/s².
  private static let forceLimit = 0.1
  /// How far the magnetic field may change during the rest, in microtesla.
  private static let fieldLimit = 1.0
  /// The minimum horizontal field outside the polar regions, in microtesla.
  private static let leastHorizontalField = 10.0
  /// An unchanged field proves rest only if a turn would have changed the field by at least this, in microtesla.
  private static let provenChange = 1.5
  private static let windowSeconds = 0.5
  /// The time that a person may take to put down the sensor.
  private static let patienceSeconds = 10.0
  /// How long to wait for a sensor that keeps moving, in seconds.
  public static let limitSeconds = 60.0

  private var detector = StillnessDetector()
  private var sum = SIMD3<Double>.zero
  private var squareSum = SIMD3<Double>.zero
  private var count = 0.0
  private var elapsedSeconds = 0.0
  /// The means over the current window.
  private var force = RunningMean()
  private var field = RunningMean()
  private var lastField: SIMD3<Double>?
  /// The mean over the first window of the rest; `nil` before that window ends.
  private var restForce: SIMD3<Double>?
  private var restField: SIMD3<Double>?
  /// The duration of rest during which the magnetic field was observed, in seconds.
  private var fieldSeconds = 0.0
  /// Whether the sensor still moves although the time to put it down is over.
  public private(set) var isMoving = false
  /// Whether the sensor is still moving after `limitSeconds`.
  public var isTooRestless: Bool { isMoving && movedAtSeconds >= GyroscopeCalibrator.limitSeconds }
  /// When the sensor last moved, in seconds after the first sample.
  private var movedAtSeconds = 0.0

  public init() {}

  /// The progress from 0 to 1. Moving the sensor resets it.
  public var progress: Double { min(1, restSeconds / neededSeconds) }

  /// Whether the rate could be a slow turn about the vertical, so that the rest must last longer.
  public var needsProof: Bool { count > 0 && verticalRate > GyroscopeCalibrator.credibleRate && !isProven }

  /// The bias in rad/s, which is the mean rate, and its standard deviation. `nil` until the progress is 1.
  public var result: (bias: SIMD3<Double>, sigma: SIMD3<Double>)? {
    guard progress >= 1 else { return nil }
    let mean = sum / count
    let variance = squareSum / count - mean * mean
    return (mean, (variance.replacing(with: 0, where: variance .< 0) / count).squareRoot())
  }

  private var restSeconds: Double { count * GyroscopeCalibrator.windowSeconds }

  private var neededSeconds: Double {
    needsProof ? GyroscopeCalibrator.unprovenSeconds : GyroscopeCalibrator.neededSeconds
  }

  /// The rate about the vertical in rad/s.
  private var verticalRate: Double {
    guard count > 0, let restForce, restForce.length > 1 else { return 0 }
    let along = dot(sum / count, restForce) / restForce.length
    return along < 0 ? -along : along
  }

  /// Whether a turn at the mean rate would have changed the magnetic field, which has stayed the same.
  private var isProven: Bool {
    let angle = verticalRate * fieldSeconds
    return angle * GyroscopeCalibrator.leastHorizontalField > GyroscopeCalibrator.provenChange
  }

  /// Adds a magnetic field in microtesla, in axes fixed to the sensor. A repeated value proves nothing: a magnetometer
  /// that works has noise, and one that is stuck shows the same field in a turn.
  public mutating func add(magnetometer: SIMD3<Double>) {
    guard magnetometer.isFinite, magnetometer != lastField else { return }
    lastField = magnetometer
    field.add(magnetometer)
  }

  /// Adds a sample to the calibration.
  ///
  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: m/s²
  ///   - seconds: the time since the previous sample
  public mutating func add(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds: Double) {
    guard gyroscope.isFinite, accelerometer.isFinite, seconds > 0, result == nil else { return }
    elapsedSeconds += seconds
    force.add(accelerometer)
    // The mean rate up to now is the bias to compare the sample with.
    let bias = count > 0 ? sum / count : nil
    let verdict = detector.update(
      gyroscope: gyroscope, accelerometer: accelerometer, bias: bias, seconds: seconds)
    switch verdict {
    case .still(let stillness):
      if stays(stillness) { take(stillness.rate) } else { startAgain() }
    case .moving:
      movedAtSeconds = elapsedSeconds
      isMoving = elapsedSeconds >= GyroscopeCalibrator.patienceSeconds
      startAgain()
    case .undecided: break
    }
  }

  /// Whether the sensor is still in the same rest. Gravity must match the beginning of the rest, and the rate must
  /// match its mean since then. If the rate could be a turn, the magnetic field must match the beginning too.
  private mutating func stays(_ stillness: Stillness) -> Bool {
    defer {
      force = RunningMean()
      field = RunningMean()
    }
    if let mean = force.mean {
      if let restForce, (mean - restForce).length > GyroscopeCalibrator.forceLimit { return false }
      restForce = restForce ?? mean
    }
    if let mean = field.mean {
      let change = restField.map { (mean - $0).length } ?? 0
      if change > GyroscopeCalibrator.fieldLimit {
        if verticalRate > GyroscopeCalibrator.credibleRate { return false }
        // The sensor has not turned, so the field of something near it has changed. Such a field proves nothing.
        restField = nil
        fieldSeconds = 0
      }
      if restField != nil { fieldSeconds += GyroscopeCalibrator.windowSeconds }
      restField = restField ?? mean
    }
    let variance = stillness.rateVariance
    let noise = max(variance.x + variance.y + variance.z, 0).squareRoot()
    let limit = GyroscopeCalibrator.steadiness + GyroscopeCalibrator.noiseSigmas * noise
    return count == 0 || (stillness.rate - sum / count).length < limit
  }

  private mutating func take(_ rate: SIMD3<Double>) {
    sum += rate
    squareSum += rate * rate
    count += 1
    isMoving = false
  }

  private mutating func startAgain() {
    sum = .zero
    squareSum = .zero
    count = 0
    restForce = nil
    restField = nil
    fieldSeconds = 0
    force = RunningMean()
    field = RunningMean()
  }
}

/// The mean of the vectors added to it.
private struct RunningMean: Sendable {
  private var sum = SIMD3<Double>.zero
  private var count = 0.0

  var mean: SIMD3<Double>? { count > 0 ? sum / count : nil }

  mutating func add(_ vector: SIMD3<Double>) {
    sum += vector
    count += 1
  }
}
