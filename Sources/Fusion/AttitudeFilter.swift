/// Estimates the attitude from inertial measurements. Pure arithmetic: no I/O, no allocation, deterministic.
public protocol AttitudeFilter: Sendable {
  /// Body to north, east, down. The heading means something only while `headingSigma` is known.
  var attitude: Quaternion { get }
  /// One standard deviation of roll and pitch, radians.
  var inclinationSigma: Double { get }
  /// One standard deviation of the heading, radians; `nil` while nothing has told where north is.
  var headingSigma: Double? { get }

  /// Takes one measurement in body axes (x forward, y right, z down).
  ///
  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: specific force, m/s²
  ///   - seconds: since the measurement before; values that are not positive and finite change nothing
  mutating func update(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds: Double)

  /// Takes a course over ground.
  ///
  /// - Parameters:
  ///   - course: radians from true north
  ///   - sigma: radians
  mutating func update(course: Double, sigma: Double)
}
