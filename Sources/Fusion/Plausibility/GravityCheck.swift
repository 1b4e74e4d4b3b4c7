/// Checks the scale of an accelerometer by the length of gravity.
///
/// An accelerometer reads half or double values if its range was not set, or if the chip is a similar one with the
/// same identification. At rest this is detected in two seconds. A steady bend of an aircraft is as quiet as rest, but
/// the gyroscope shows it. In motion the mean length over a longer time is used, which is slightly above gravity, but
/// never half or double for long, except while the sensor is shaken. The first decision about a sensor comes sooner,
/// because nothing is known about it yet: after four seconds of usual vibration, as in a vehicle.
struct GravityCheck: Sendable {
  private static let gravity = 9.80665
  private static let windowSeconds = 0.5
  /// The number of consecutive quiet windows that are sufficient.
  private static let neededWindows = 4
  /// The number of windows that are sufficient, other than wild ones.
  private static let longWindows = 40
  /// The number of consecutive calm windows that are sufficient for the first decision.
  private static let firstWindows = 8
  /// The standard deviation of the length within a quiet window, in m/s².
  private static let quietSigma = 0.3
  /// The mean rate of rotation above which a window is not quiet, in rad/s. A force of 1.33 times gravity bends the path
  /// of anything slower than 170 m/s faster than this.
  private static let quietRate = 0.05
  /// The standard deviation of the length relative to its mean: less than this within a calm window, and from this on
  /// within a wild one, which proves nothing. A hand that shakes a sensor makes twice gravity for minutes.
  private static let calmSpread = 0.15
  private static let wildSpread = 0.25
  /// The permitted length relative to gravity: for a quiet sensor and for a moving one.
  private static let quietShare = 0.75...1.33
  private static let movingShare = 0.6...1.6

  private var seconds = 0.0
  private var count = 0.0
  private var sum = 0.0
  private var squareSum = 0.0
  private var rateSum = SIMD3<Double>.zero
  private var quiet = (count: 0, sum: 0.0)
  private var calm = (count: 0, sum: 0.0)
  private var long = (count: 0, sum: 0.0)
  private var hasDecided = false
  /// The mean length in m/s² if it differs from gravity; `nil` if it matches gravity, or is unknown.
  private(set) var wrongLength: Double?

  @inline(__always)
  mutating func update(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds dt: Double) {
    let deviation = accelerometer.length - GravityCheck.gravity
    sum += deviation
    squareSum += deviation * deviation
    rateSum += gyroscope
    count += 1
    seconds += dt
    if seconds >= GravityCheck.windowSeconds, count >= 5 { endWindow() }
  }

  private mutating func endWindow() {
    let mean = sum / count
    let variance = max(0, squareSum / count - mean * mean)
    let rate = rateSum.length / count
    rateSum = .zero
    (seconds, count, sum, squareSum) = (0, 0, 0, 0)
    let length = mean + GravityCheck.gravity
    let spread = variance.squareRoot() / max(length, .leastNonzeroMagnitude)
    if spread < GravityCheck.wildSpread { long = (long.count + 1, long.sum + length) }
    calm = spread < GravityCheck.calmSpread ? (calm.count + 1, calm.sum + length) : (0, 0)
    if variance < GravityCheck.quietSigma * GravityCheck.quietSigma, rate < GravityCheck.quietRate {
      quiet = (quiet.count + 1, quiet.sum + length)
    } else {
      quiet = (0, 0)
    }
    if quiet.count >= GravityCheck.neededWindows {
      decide(quiet.sum / Double(quiet.count), within: GravityCheck.quietShare)
      quiet = (0, 0)
      long = (0, 0)
    } else if !hasDecided, calm.count >= GravityCheck.firstWindows {
      decide(calm.sum / Double(calm.count), within: GravityCheck.movingShare)
    } else if long.count >= GravityCheck.longWindows {
      decide(long.sum / Double(long.count), within: GravityCheck.movingShare)
      long = (0, 0)
    }
  }

  private mutating func decide(_ length: Double, within shares: ClosedRange<Double>) {
    hasDecided = true
    wrongLength = shares.contains(length / GravityCheck.gravity) ? nil : length
  }
}
