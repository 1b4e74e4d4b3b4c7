/// The gyroscope's measurement during half a second of standing still.
struct Stillness: Equatable, Sendable {
  /// The mean rate in rad/s.
  var rate: SIMD3<Double>
  /// The variance of the mean rate in (rad/s)².
  var rateVariance: SIMD3<Double>
}

/// Detects standing still after 1.5 s, and then every 0.5 s. It uses the variation of the accelerometer and the mean of
/// the gyroscope, so that it also detects standing still while an engine runs.
struct StillnessDetector: Sendable {
  enum Verdict: Equatable, Sendable {
    case still(Stillness)
    case moving
    /// The window has not ended, or stillness has not lasted long enough.
    case undecided
  }

  private static let windowSeconds = 0.5
  private static let neededCount = 3
  /// The largest bias of any sensor, rad/s.
  private static let largestBias = 0.1
  /// The limit of the accelerometer's variation in m/s²: the square root of the sum of the variances.
  private static let accelerometerLimit = 0.2
  /// The limit of the change between the means of two consecutive windows, m/s².
  private static let changeLimit = 0.1
  /// The limit of the mean rate minus the bias, rad/s.
  private static let rateLimit = 0.3 * Double.pi / 180

  private var seconds = 0.0
  private var count = 0.0
  private var rateSum = SIMD3<Double>.zero
  private var forceSum = SIMD3<Double>.zero
  private var squareSum = 0.0
  private var rateSquareSum = SIMD3<Double>.zero
  /// The first sample of the window. Subtracting it keeps the squares small.
  private var anchor = SIMD3<Double>.zero
  private var rateAnchor = SIMD3<Double>.zero
  private var previousMean: SIMD3<Double>?
  /// The number of consecutive still windows. A boat at anchor is still for a moment each time it has swung out, so one
  /// window is not enough.
  private var stillCount = 0

  @inline(__always)
  mutating func update(
    gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, bias: SIMD3<Double>?, seconds dt: Double
  ) -> Verdict {
    if count == 0 {
      anchor = accelerometer
      rateAnchor = gyroscope
    }
    let deviation = accelerometer - anchor
    count += 1
    seconds += dt
    let rateDeviation = gyroscope - rateAnchor
    rateSum += rateDeviation
    rateSquareSum += rateDeviation * rateDeviation
    forceSum += deviation
    squareSum += dot(deviation, deviation)
    // A few samples are not enough to estimate their variation.
    let isOver = seconds >= StillnessDetector.windowSeconds && count >= 5
    return isOver ? endWindow(bias) : .undecided
  }

  private mutating func endWindow(_ bias: SIMD3<Double>?) -> Verdict {
    let rateOffset = rateSum / count
    let rate = rateAnchor + rateOffset
    let rateVariance = (rateSquareSum / count - rateOffset * rateOffset) / count
    let offset = forceSum / count
    let variance = squareSum / count - dot(offset, offset)
    let mean = anchor + offset
    let change = previousMean.map { (mean - $0).length } ?? .infinity
    previousMean = mean
    // Without a known bias, any bias that a sensor may have is allowed.
    let excess = rate - (bias ?? rate.clamped(to: StillnessDetector.largestBias))
    let isTurning = (0..<3).contains {
      abs(excess[$0]) > StillnessDetector.rateLimit + 3 * max(rateVariance[$0], 0).squareRoot()
    }
    let isStill =
      variance < StillnessDetector.accelerometerLimit * StillnessDetector.accelerometerLimit
      && change < StillnessDetector.changeLimit && !isTurning
    seconds = 0
    count = 0
    rateSum = .zero
    rateSquareSum = .zero
    forceSum = .zero
    squareSum = 0
    guard isStill else {
      stillCount = 0
      return .moving
    }
    stillCount += 1
    guard stillCount >= StillnessDetector.neededCount else { return .undecided }
    return .still(Stillness(rate: rate, rateVariance: rateVariance))
  }
}
