/// Finds the gyroscope's bias: what it shows while the sensor lies still for ten seconds.
///
/// A slow, steady turn looks like a bias. About a horizontal axis gravity shows it, about the vertical a
/// magnetometer does. Without a magnetometer, a rate about the vertical that no good gyroscope has as
/// its bias must last for two minutes.
public struct GyroscopeCalibrator: Sendable {
  private static let degree = 3.141_592_653_589_793 / 180
  private static let neededSeconds = 10.0
  /// Without proof that the sensor does not turn.
  private static let unprovenSeconds = 120.0
  /// A smaller rate about the vertical needs no proof, rad/s.
  private static let credibleRate = 0.3 * degree
  /// From one half second to the others of the same rest, rad/s.
  private static let steadiness = 0.2 * degree
  /// And so many standard deviations of a half second's mean.
  private static let noiseSigmas = 4.0
  /// How far gravity (m/s²) and the magnetic field (microtesla) may move during the rest.
  private static let forceLimit = 0.1
  private static let fieldLimit = 1.0
  /// The horizontal field outside the polar regions, at least; and how far a turn would have moved it
  /// when its staying proves the rest. Microtesla.
  private static let leastHorizontalField = 10.0
  private static let provenChange = 1.5
  private static let windowSeconds = 0.5
  /// Whoever has just taken the sensor in hand may take so long to put it down.
  private static let patienceSeconds = 10.0
  /// For how long a sensor that moves again and again is waited for, seconds.
  public static let limitSeconds = 60.0

  private var detector = StillnessDetector()
  private var sum = SIMD3<Double>.zero
  private var squareSum = SIMD3<Double>.zero
  private var count = 0.0
  private var elapsedSeconds = 0.0
  /// Of the present window.
  private var force = RunningMean()
  private var field = RunningMean()
  /// Of the first window of the rest, and the latest one.
  private var restForce: SIMD3<Double>?
  private var restField: SIMD3<Double>?
  /// The rest for which the magnetic field has been watched, seconds.
  private var fieldSeconds = 0.0
  /// It moves, and has for some time not lain still for as long as it takes.
  public private(set) var isMoving = false
  /// It still moves when it has been waited for for `limitSeconds`.
  public var isTooRestless: Bool { isMoving && movedAtSeconds >= GyroscopeCalibrator.limitSeconds }
  /// When it has moved last.
  private var movedAtSeconds = 0.0

  public init() {}

  /// 0 to 1. Moving the sensor starts it again.
  public var progress: Double { min(1, restSeconds / neededSeconds) }

  /// Whether the rate may as well be a slow turn about the vertical, so that the rest takes longer.
  public var needsProof: Bool { count > 0 && verticalRate > GyroscopeCalibrator.credibleRate && !isProven }

  /// rad/s, once the progress is 1; with the standard deviation of that mean.
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

  /// rad/s
  private var verticalRate: Double {
    guard count > 0, let restForce, restForce.length > 1 else { return 0 }
    let along = dot(sum / count, restForce) / restForce.length
    return along < 0 ? -along : along
  }

  /// Whether a turn at the mean rate would have moved the magnetic field, which has stayed.
  private var isProven: Bool {
    let angle = verticalRate * fieldSeconds
    return angle * GyroscopeCalibrator.leastHorizontalField > GyroscopeCalibrator.provenChange
  }

  /// Takes a magnetic field, microtesla, in the axes of whatever is fixed to the sensor.
  public mutating func add(magnetometer: SIMD3<Double>) {
    if magnetometer.isFinite { field.add(magnetometer) }
  }

  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: m/s²
  ///   - seconds: since the sample before
  public mutating func add(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds: Double) {
    guard gyroscope.isFinite, accelerometer.isFinite, seconds > 0, result == nil else { return }
    elapsedSeconds += seconds
    force.add(accelerometer)
    // What it has shown so far is the bias that more of it is compared with.
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

  /// Whether rate, gravity and field are still those of the first half second of the rest.
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
      if let restField, (mean - restField).length > GyroscopeCalibrator.fieldLimit { return false }
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

/// The mean of the vectors that were added.
private struct RunningMean: Sendable {
  private var sum = SIMD3<Double>.zero
  private var count = 0.0

  var mean: SIMD3<Double>? { count > 0 ? sum / count : nil }

  mutating func add(_ vector: SIMD3<Double>) {
    sum += vector
    count += 1
  }
}
