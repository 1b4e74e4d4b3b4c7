import Glibc

/// Position, velocity, attitude and the sensor's biases at one instant, with their uncertainties, and the arithmetic
/// to propagate and correct them: an error-state Kalman filter of fifteen states.
struct NavigationSolution: Sendable {
  /// The time in seconds.
  var time: Double
  var position: GeodeticPosition
  /// The velocity: north, east, down, m/s.
  var velocity: SIMD3<Double>
  /// The rotation from the sensor's axes to north, east, down.
  var attitude: Quaternion
  /// The bias of the gyroscope in rad/s and of the accelerometer in m/s², in the sensor's axes.
  var gyroscopeBias: SIMD3<Double>
  var accelerometerBias: SIMD3<Double>
  var covariance: ErrorCovariance

  private static let largestAccelerometerBias = 0.5
  private static let largestGyroscopeBias = 5 * Double.pi / 180

  /// Propagates the solution by one sample or a part of one.
  mutating func propagate(
    gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, to now: Double, _ noise: NavigationFilter.Noise
  ) {
    let dt = now - time
    guard dt > 0 else { return }
    let radii = Earth.radii(latitude: position.latitude)
    let sine = sin(position.latitude)
    let cosine = max(cos(position.latitude), 1e-6)
    let earthRate = SIMD3(Earth.rotation * cosine, 0, -Earth.rotation * sine)
    // The local frame rotates as it moves over the curved earth.
    let transportRate = SIMD3(
      velocity.y / (radii.transverse + position.altitude), -velocity.x / (radii.meridian + position.altitude),
      -velocity.y * sine / cosine / (radii.transverse + position.altitude))

    let rate = gyroscope - gyroscopeBias
    let force = accelerometer - accelerometerBias
    let frameRate = attitude.conjugate.rotate(earthRate + transportRate)
    // The force acts at the attitude in the middle of the interval.
    let middle = attitude * Quaternion(rotationVector: 0.5 * dt * (rate - frameRate))
    attitude = (attitude * Quaternion(rotationVector: dt * (rate - frameRate))).normalized
    let rotation = Matrix3(middle)
    let pushed = rotation * force
    let gravity = SIMD3(0, 0, Earth.gravity(latitude: position.latitude, altitude: position.altitude))
    let acceleration = pushed + gravity - cross(2 * earthRate + transportRate, velocity)
    let before = velocity
    velocity += dt * acceleration
    position = position.moved(by: 0.5 * dt * (before + velocity))
    time = now

    covariance.predict(seconds: dt, f: -dt * Matrix3(crossing: pushed), b: dt * rotation)
    let pushVariance = noise.acceleration * noise.acceleration
    // A scale error of the gyroscope makes the heading wrong in each turn. The error has the same sign for all turns to
    // one side, so it does not average out.
    let turning = noise.gyroscopeScale * rate.length
    let turnVariance = noise.rate * noise.rate + turning * turning
    covariance.addNoise(
      position: pushVariance * dt * dt * dt / 3, positionVelocity: pushVariance * dt * dt / 2,
      velocity: pushVariance * dt, attitude: SIMD3(repeating: turnVariance * dt),
      gyroscopeBias: noise.gyroscopeBiasWander * noise.gyroscopeBiasWander * dt,
      accelerometerBias: noise.accelerometerBiasWander * noise.accelerometerBiasWander * dt)
  }

  /// A measurement of three components, each with its row of the measurement matrix H.
  struct Observation {
    /// Measured minus expected.
    var innovation: SIMD3<Double>
    var variance: SIMD3<Double>
    var rows: (ErrorCovariance.Row, ErrorCovariance.Row, ErrorCovariance.Row)
  }

  /// The observation of the antenna's position, p + R l, with the lever arm l.
  func observation(
    position measured: GeodeticPosition, variance: SIMD3<Double>, leverArm: SIMD3<Double>
  ) -> Observation {
    let arm = attitude.rotate(leverArm)
    let turned = Matrix3(crossing: arm)
    return Observation(
      innovation: measured.offset(from: position) - arm, variance: variance,
      rows: (
        ErrorCovariance.Row(p: SIMD3(1, 0, 0), t: -turned.rows.0),
        ErrorCovariance.Row(p: SIMD3(0, 1, 0), t: -turned.rows.1),
        ErrorCovariance.Row(p: SIMD3(0, 0, 1), t: -turned.rows.2)
      ))
  }

  /// The observation of the antenna's velocity, v + R (ω × l), with the lever arm l.
  func observation(
    velocity measured: SIMD3<Double>, variance: SIMD3<Double>, leverArm: SIMD3<Double>, gyroscope: SIMD3<Double>
  ) -> Observation {
    let rotation = Matrix3(attitude)
    let arm = rotation * cross(gyroscope - gyroscopeBias, leverArm)
    let turned = Matrix3(crossing: arm)
    let biased = rotation * Matrix3(crossing: leverArm)
    return Observation(
      innovation: measured - velocity - arm, variance: variance,
      rows: (
        ErrorCovariance.Row(v: SIMD3(1, 0, 0), t: -turned.rows.0, g: biased.rows.0),
        ErrorCovariance.Row(v: SIMD3(0, 1, 0), t: -turned.rows.1, g: biased.rows.1),
        ErrorCovariance.Row(v: SIMD3(0, 0, 1), t: -turned.rows.2, g: biased.rows.2)
      ))
  }

  /// The observation that the velocity is zero while the sensor stands still.
  func observationOfStandstill(variance: Double) -> Observation {
    Observation(
      innovation: -velocity, variance: SIMD3(repeating: variance),
      rows: (
        ErrorCovariance.Row(v: SIMD3(1, 0, 0)), ErrorCovariance.Row(v: SIMD3(0, 1, 0)),
        ErrorCovariance.Row(v: SIMD3(0, 0, 1))
      ))
  }

  /// The observation that the gyroscope measures its bias and the earth's rotation while the sensor stands still.
  ///
  /// - Parameter floor: a further sigma, rad/s; its variance is added to the measured variance
  func observation(ofStillness stillness: Stillness, floor: Double) -> Observation {
    let earthRate = SIMD3(
      Earth.rotation * cos(position.latitude), 0, -Earth.rotation * sin(position.latitude))
    return Observation(
      innovation: stillness.rate - attitude.conjugate.rotate(earthRate) - gyroscopeBias,
      variance: stillness.rateVariance + floor * floor,
      rows: (
        ErrorCovariance.Row(g: SIMD3(1, 0, 0)), ErrorCovariance.Row(g: SIMD3(0, 1, 0)),
        ErrorCovariance.Row(g: SIMD3(0, 0, 1))
      ))
  }

  /// The velocity in the sensor's axes, and its derivatives by velocity and attitude: R' v, the rows of R', and R'
  /// [v]×.
  var bodyVelocity: (value: SIMD3<Double>, byVelocity: Matrix3, byAttitude: Matrix3) {
    let back = Matrix3(attitude).transposed
    return (back * velocity, back, back * Matrix3(crossing: velocity))
  }

  /// The normalized squared innovation of a measurement, chi-square distributed with three degrees of freedom.
  func surprise(_ observation: Observation) -> Double { fit(observation).surprise }

  /// The normalized squared innovation, and the determinant of the innovation's expected variance.
  func fit(_ observation: Observation) -> (surprise: Double, determinant: Double) {
    let (a, b, c) = observation.rows
    let (ga, gb, gc) = (covariance.times(a), covariance.times(b), covariance.times(c))
    typealias Row = ErrorCovariance.Row
    let s = Matrix3(
      SIMD3(Row.dot(a, ga) + observation.variance.x, Row.dot(a, gb), Row.dot(a, gc)),
      SIMD3(Row.dot(b, ga), Row.dot(b, gb) + observation.variance.y, Row.dot(b, gc)),
      SIMD3(Row.dot(c, ga), Row.dot(c, gb), Row.dot(c, gc) + observation.variance.z))
    guard let inverse = s.inverse else { return (.infinity, 0) }
    return (
      dot(observation.innovation, inverse * observation.innovation), dot(s.rows.0, cross(s.rows.1, s.rows.2))
    )
  }

  mutating func correct(_ observation: Observation) {
    var error = ErrorCovariance.Row()
    add(observation.rows.0, observation.innovation.x, observation.variance.x, &error)
    add(observation.rows.1, observation.innovation.y, observation.variance.y, &error)
    add(observation.rows.2, observation.innovation.z, observation.variance.z, &error)
    inject(error)
  }

  mutating func correct(_ row: ErrorCovariance.Row, innovation: Double, variance: Double) {
    var error = ErrorCovariance.Row()
    add(row, innovation, variance, &error)
    inject(error)
  }

  /// Applies one scalar of a measurement. Its innovation is reduced by the corrections of the previous scalars.
  private mutating func add(
    _ row: ErrorCovariance.Row, _ innovation: Double, _ variance: Double, _ error: inout ErrorCovariance.Row
  ) {
    let left = innovation - ErrorCovariance.Row.dot(row, error)
    let gain = covariance.correct(row, variance: variance)
    error += left * gain
  }

  /// Moves the estimated error into the solution.
  private mutating func inject(_ error: ErrorCovariance.Row) {
    position = position.moved(by: error.p)
    velocity += error.v
    attitude = (Quaternion(rotationVector: error.t) * attitude).normalized
    gyroscopeBias = (gyroscopeBias + error.g).clamped(to: NavigationSolution.largestGyroscopeBias)
    accelerometerBias = (accelerometerBias + error.a).clamped(to: NavigationSolution.largestAccelerometerBias)
    covariance.resetAttitude(by: error.t)
  }

  /// The speed over ground in m/s minus three standard deviations, but at least 0.
  var sureSpeed: Double {
    let variance = covariance.vv.diagonal
    let speed = (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot()
    return max(0, speed - 3 * max(variance.x, variance.y).squareRoot())
  }

  /// Whether all values are finite.
  var isFinite: Bool {
    position.isValid && velocity.isFinite && attitude.w.isFinite && attitude.x.isFinite && attitude.y.isFinite
      && attitude.z.isFinite && gyroscopeBias.isFinite && accelerometerBias.isFinite
      && covariance.pp.diagonal.isFinite && covariance.vv.diagonal.isFinite && covariance.tt.diagonal.isFinite
  }
}
