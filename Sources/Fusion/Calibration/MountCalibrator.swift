/// Determines how a sensor is mounted in a vehicle. Down is the direction of gravity at rest, and forward is the
/// direction of acceleration when the vehicle gains speed on a straight road.
public struct MountCalibrator: Sendable {
  private static let neededPush = 60.0
  /// At a higher rotation rate, in rad/s, a curve causes sideways acceleration, so the acceleration does not count.
  private static let straight = 0.05
  /// The smallest acceleration that counts, m/s².
  private static let leastPush = 0.4

  private var detector = StillnessDetector()
  private var windowSum = SIMD3<Double>.zero
  private var windowCount = 0.0
  private var restSum = SIMD3<Double>.zero
  private var restCount = 0.0
  private var forceSum = SIMD3<Double>.zero
  private var forceCount = 0.0
  private var rateSum = SIMD3<Double>.zero
  private var lastSpeed: (speed: Double, time: Double)?
  /// The sum of accelerations in the sensor's axes, reversed while the vehicle slows down.
  private var pushSum = SIMD3<Double>.zero
  /// The total of gained and lost speed, in m/s.
  private var pushAmount = 0.0

  public init() {}

  /// The progress from 0 to 1: half for a stop, and half for `neededPush` m/s of gained and lost speed.
  public var progress: Double {
    (restCount > 0 ? 0.5 : 0) + 0.5 * min(1, pushAmount / MountCalibrator.neededPush)
  }

  /// Adds a sample of the inertial sensor.
  ///
  /// - Parameters:
  ///   - gyroscope: the rate, rad/s
  ///   - accelerometer: the specific force, m/s²
  ///   - seconds: the time since the previous sample
  public mutating func add(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds: Double) {
    guard gyroscope.isFinite, accelerometer.isFinite, seconds > 0 else { return }
    forceSum += accelerometer
    rateSum += gyroscope
    forceCount += 1
    windowSum += accelerometer
    windowCount += 1
    let verdict = detector.update(gyroscope: gyroscope, accelerometer: accelerometer, bias: nil, seconds: seconds)
    if case .undecided = verdict { return }
    if case .still = verdict {
      restSum += windowSum / windowCount
      restCount += 1
    }
    windowSum = .zero
    windowCount = 0
  }

  /// Adds the receiver's speed over ground.
  ///
  /// - Parameters:
  ///   - speed: m/s
  ///   - time: seconds
  public mutating func add(speed: Double, time: Double) {
    defer {
      lastSpeed = (speed, time)
      forceSum = .zero
      rateSum = .zero
      forceCount = 0
    }
    guard let last = lastSpeed, time - last.time > 0.005, time - last.time < 2, forceCount > 0, restCount > 0 else {
      return
    }
    let gained = (speed - last.speed) / (time - last.time)
    guard abs(gained) > MountCalibrator.leastPush, (rateSum / forceCount).length < MountCalibrator.straight else {
      return
    }
    let push = forceSum / forceCount - restSum / restCount
    pushSum += (gained > 0 ? 1 : -1) * push
    pushAmount += abs(speed - last.speed)
  }

  /// The directions forward, right and down as rows in the sensor's axes, and the share of the summed accelerations
  /// that was horizontal, from 0 to 1. `nil` until the progress is 1, or if the sums give no directions.
  public var result: (rows: [SIMD3<Double>], quality: Double)? {
    guard progress >= 1 else { return nil }
    let rest = restSum / restCount
    guard rest.length > 5 else { return nil }
    let down = rest / -rest.length
    let level = pushSum - dot(pushSum, down) * down
    guard level.length > 0 else { return nil }
    let forward = level / level.length
    return ([forward, cross(down, forward), down], level.length / pushSum.length)
  }
}
