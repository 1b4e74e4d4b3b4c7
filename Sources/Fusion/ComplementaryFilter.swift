import Glibc

/// The simplest attitude filter that works: the gyroscope's integral, pulled towards the accelerometer's vertical while
/// the specific force looks like gravity alone, and towards the course while there is one.
public struct ComplementaryFilter: AttitudeFilter {
  private static let gravity = 9.80665
  /// How fast the accelerometer corrects the inclination, and the course the heading.
  private static let inclinationTimeConstant = 5.0
  private static let courseTimeConstant = 2.0
  /// What a small MEMS gyroscope drifts, rad/s.
  private static let gyroscopeDrift = 0.002

  public private(set) var attitude = Quaternion.identity
  public private(set) var inclinationSigma = Double.pi
  public private(set) var headingSigma: Double?
  private var isLevelled = false

  public init() {}

  public mutating func update(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds: Double) {
    guard seconds > 0, seconds < 1, gyroscope.isFinite, accelerometer.isFinite else { return }
    let force = (accelerometer * accelerometer).sum().squareRoot()
    guard isLevelled else {
      if force > 1 { level(accelerometer) }
      return
    }
    attitude = (attitude * Quaternion(rotationVector: gyroscope * seconds)).normalized
    headingSigma = headingSigma.map { min($0 + ComplementaryFilter.gyroscopeDrift * seconds, .pi) }
    inclinationSigma = min(inclinationSigma + ComplementaryFilter.gyroscopeDrift * seconds, .pi)
    // Braking and bends tilt the apparent vertical; they also change its length.
    let disturbance = abs(force - ComplementaryFilter.gravity) / ComplementaryFilter.gravity
    guard disturbance < 0.2, force > 0 else { return }
    let weight = seconds / ComplementaryFilter.inclinationTimeConstant * (1 - disturbance / 0.2)
    // At rest the specific force points up, that is to (0, 0, -1) in north, east, down.
    let measuredUp = attitude.rotate(accelerometer / force)
    let correction = cross(measuredUp, SIMD3(0, 0, -1)) * min(weight, 1)
    attitude = (Quaternion(rotationVector: correction) * attitude).normalized
    inclinationSigma += (0.02 - inclinationSigma) * min(weight, 1)
  }

  public mutating func update(course: Double, sigma: Double) {
    guard course.isFinite, sigma.isFinite, isLevelled else { return }
    var error = course - attitude.yaw
    error -= (error / (2 * .pi)).rounded() * 2 * .pi
    // The first course sets the heading, later ones pull it.
    let weight = headingSigma == nil ? 1 : min(1 / ComplementaryFilter.courseTimeConstant, 1)
    attitude = (Quaternion(rotationVector: SIMD3(0, 0, error * weight)) * attitude).normalized
    headingSigma = headingSigma.map { $0 + (max(sigma, 0.02) - $0) * weight } ?? max(sigma, 0.02)
  }

  private mutating func level(_ accelerometer: SIMD3<Double>) {
    let roll = atan2(-accelerometer.y, -accelerometer.z)
    let pitch = atan2(
      accelerometer.x, (accelerometer.y * accelerometer.y + accelerometer.z * accelerometer.z).squareRoot())
    attitude = Quaternion(roll: roll, pitch: pitch, yaw: 0)
    inclinationSigma = 0.05
    isLevelled = true
  }
}
