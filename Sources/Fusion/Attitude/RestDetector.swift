/// Detects rest. The sensor is at rest if gyroscope and accelerometer stay close to their own low-pass filtered values
/// for at least `minimumDuration` seconds, and if the mean rate is small enough to be a bias.
struct RestDetector: Sendable {
  private static let timeConstant = 0.5
  private static let minimumDuration = 1.5
  private static let gyroscopeLimit = 2 * Double.pi / 180
  private static let accelerometerLimit = 0.5

  private let coefficients: LowPassFilter.Coefficients
  private var gyroscope = LowPassFilter()
  private var accelerometer = LowPassFilter()
  private var duration = 0.0

  /// The mean rate in rad/s. At rest it equals the gyroscope bias.
  var rate: SIMD3<Double> { gyroscope.value }
  /// The mean specific force in m/s².
  var force: SIMD3<Double> { accelerometer.value }
  private(set) var isAtRest = false

  init(interval: Double) { coefficients = RestDetector.coefficients(interval: interval) }

  /// The filter for measurements at rest.
  ///
  /// - Parameter interval: the time between measurements, seconds
  static func coefficients(interval: Double) -> LowPassFilter.Coefficients {
    LowPassFilter.Coefficients(timeConstant: timeConstant, interval: interval)
  }

  /// - Parameter biasLimit: a steady rate above this limit, in rad/s, is a rotation and not a bias
  @inline(__always)
  mutating func update(
    gyroscope rate: SIMD3<Double>, accelerometer force: SIMD3<Double>, biasLimit: Double, seconds: Double
  ) {
    gyroscope.update(rate, coefficients)
    accelerometer.update(force, coefficients)
    let rateDeviation = rate - gyroscope.value
    let forceDeviation = force - accelerometer.value
    let mean = gyroscope.value
    guard
      dot(rateDeviation, rateDeviation) < RestDetector.gyroscopeLimit * RestDetector.gyroscopeLimit,
      dot(forceDeviation, forceDeviation) < RestDetector.accelerometerLimit * RestDetector.accelerometerLimit,
      abs(mean.x) < biasLimit, abs(mean.y) < biasLimit, abs(mean.z) < biasLimit
    else {
      duration = 0
      isAtRest = false
      return
    }
    duration += seconds
    if duration >= RestDetector.minimumDuration { isAtRest = true }
  }
}
