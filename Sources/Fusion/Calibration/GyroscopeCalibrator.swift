/// Finds the gyroscope's bias: what it shows while the sensor lies still for ten seconds.
public struct GyroscopeCalibrator: Sendable {
  private static let neededSeconds = 10.0
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
  /// It moves, and has for some time not lain still for as long as it takes.
  public private(set) var isMoving = false
  /// It still moves when it has been waited for for `limitSeconds`.
  public var isTooRestless: Bool { isMoving && movedAtSeconds >= GyroscopeCalibrator.limitSeconds }
  /// When it has moved last.
  private var movedAtSeconds = 0.0

  public init() {}

  /// 0 to 1. Moving the sensor starts it again.
  public var progress: Double { min(1, count * GyroscopeCalibrator.windowSeconds / GyroscopeCalibrator.neededSeconds) }

  /// rad/s, once the progress is 1; with the standard deviation of that mean.
  public var result: (bias: SIMD3<Double>, sigma: SIMD3<Double>)? {
    guard progress >= 1 else { return nil }
    let mean = sum / count
    let variance = squareSum / count - mean * mean
    return (mean, (variance.replacing(with: 0, where: variance .< 0) / count).squareRoot())
  }

  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: m/s²
  ///   - seconds: since the sample before
  public mutating func add(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds: Double) {
    guard gyroscope.isFinite, accelerometer.isFinite, seconds > 0, result == nil else { return }
    elapsedSeconds += seconds
    // What it has shown so far is the bias that more of it is compared with.
    let bias = count > 0 ? sum / count : nil
    switch detector.update(gyroscope: gyroscope, accelerometer: accelerometer, bias: bias, seconds: seconds) {
    case .still(let stillness):
      sum += stillness.rate
      squareSum += stillness.rate * stillness.rate
      count += 1
      isMoving = false
    case .moving:
      movedAtSeconds = elapsedSeconds
      isMoving = elapsedSeconds >= GyroscopeCalibrator.patienceSeconds
      sum = .zero
      squareSum = .zero
      count = 0
    case .undecided: break
    }
  }
}
