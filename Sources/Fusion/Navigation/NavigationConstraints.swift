/// Corrections that need no fix: the vehicle stands still, it moves in the direction of its wheels, or the compass
/// shows its heading.
extension NavigationFilter {
  mutating func applyConstraints(
    _ gyroscope: SIMD3<Double>, _ stillness: Stillness?, _ constrains: Bool, _ compassHeading: Double?
  ) {
    if let stillness { standStill(stillness) }
    if constrains { constrain(gyroscope) }
    if let compassHeading { correctHeading(compassHeading) }
  }

  /// Corrects the heading by a reading of the compass, unless the heading is known better already. Consecutive readings
  /// share their errors, so repeated readings add no accuracy.
  private mutating func correctHeading(_ heading: Double) {
    guard let now = solution, !hasStatedHeading(at: now.time) else { return }
    let sigma = compass.sigma(orientation)
    let variance = sigma * sigma
    guard now.covariance.tt.rows.2.z > variance else { return }
    var innovation = heading - now.attitude.yaw
    innovation -= (innovation / (2 * .pi)).rounded() * 2 * .pi
    guard innovation * innovation < 10.83 * (now.covariance.tt.rows.2.z + variance) else { return }
    solution?.correct(ErrorCovariance.Row(t: SIMD3(0, 0, 1)), innovation: innovation, variance: variance)
  }

  private mutating func standStill(_ stillness: Stillness) {
    guard let now = solution else { return }
    let standstill = now.observationOfStandstill(variance: 0.02 * 0.02)
    // Gliding over ice looks like standing still. Fixes that show motion take precedence.
    guard now.surprise(standstill) < NavigationFilter.gate else { return }
    solution?.correct(standstill)
    // The first correction has changed the expected bias, so the solution is read again.
    guard let now = solution else { return }
    let bias = now.observation(ofStillness: stillness, floor: 2e-4)
    if now.surprise(bias) < NavigationFilter.gate { solution?.correct(bias) }
  }

  private mutating func constrain(_ gyroscope: SIMD3<Double>) {
    guard let now = solution else { return }
    let (value, byVelocity, byAttitude) = now.bodyVelocity
    guard value.x > 1 || value.x < -1 else { return }
    let yawRate = gyroscope.z - now.gyroscopeBias.z
    let expected = vehicle.expectation(forward: value.x, yawRate: yawRate)
    let sideways = ErrorCovariance.Row(v: byVelocity.rows.1, t: byAttitude.rows.1)
    let downward = ErrorCovariance.Row(v: byVelocity.rows.2, t: byAttitude.rows.2)
    func correct(_ row: ErrorCovariance.Row, _ innovation: Double, _ sigma: Double) {
      // Readings within a second share their errors, so about ten count as one.
      let variance = 10 * sigma * sigma
      let g = now.covariance.times(row)
      let s = ErrorCovariance.Row.dot(row, g) + sigma * sigma
      guard innovation * innovation < 10.83 * s else { return }
      solution?.correct(row, innovation: innovation, variance: variance)
    }
    correct(sideways, expected.sideways - value.y, expected.sidewaysSigma)
    guard let now = solution else { return }
    correct(downward, expected.downward - now.bodyVelocity.value.z, expected.downwardSigma)
  }
}

/// The constraint that a wheeled vehicle moves neither sideways nor vertically. The mounting of its sensor is learnt
/// while fixes arrive: the axes differ from the wheels' by a degree or two, and a sensor ahead of the rear axle moves
/// sideways in a curve.
///
/// Sideways speed = yaw · forward speed + arm · yaw rate, and downward speed = pitch · forward speed. Here yaw and
/// pitch are the angles of the mounting in radians, and arm is the distance ahead of the rear axle in metres.
struct VehicleConstraint: Sendable {
  private static let sidewaysSigma = 0.15
  private static let downwardSigma = 0.25
  /// The sideways speed per sideways acceleration from slipping tyres and the roll of the body, in m/s per m/s².
  private static let slip = 0.05

  private var yaw = 0.0
  private var arm = 0.0
  private var pitch = 0.0
  /// The variance of yaw, the covariance of yaw and arm, and the variance of arm.
  private var (yawVariance, shared, armVariance) = (0.035 * 0.035, 0.0, 1.0)
  private var pitchVariance = 0.035 * 0.035

  /// The expected sideways and downward speeds and their sigmas, in m/s.
  func expectation(forward: Double, yawRate: Double) -> (
    sideways: Double, sidewaysSigma: Double, downward: Double, downwardSigma: Double
  ) {
    let slip = VehicleConstraint.slip * abs(forward * yawRate)
    let mount = forward * forward * yawVariance + 2 * forward * yawRate * shared + yawRate * yawRate * armVariance
    return (
      yaw * forward + arm * yawRate,
      (VehicleConstraint.sidewaysSigma * VehicleConstraint.sidewaysSigma + slip * slip + mount).squareRoot(),
      pitch * forward,
      (VehicleConstraint.downwardSigma * VehicleConstraint.downwardSigma + slip * slip + forward * forward
        * pitchVariance)
        .squareRoot()
    )
  }

  /// Learns from a velocity in the sensor's axes that other measurements confirm.
  ///
  /// - Parameter variance: the variances of the sideways and downward components
  mutating func learn(velocity: SIMD3<Double>, yawRate: Double, variance: SIMD2<Double>) {
    let slip = VehicleConstraint.slip * abs(velocity.x * yawRate)
    // Consecutive velocities share their errors, so they count as if only a tenth of them were new.
    let r = 10 * (VehicleConstraint.sidewaysSigma * VehicleConstraint.sidewaysSigma + slip * slip + variance.x)
    let h = SIMD2(velocity.x, yawRate)
    let g = SIMD2(yawVariance * h.x + shared * h.y, shared * h.x + armVariance * h.y)
    let s = h.x * g.x + h.y * g.y + r
    let innovation = velocity.y - (yaw * h.x + arm * h.y)
    if innovation * innovation < 10.83 * s {
      yaw += g.x / s * innovation
      arm += g.y / s * innovation
      yawVariance = max(yawVariance - g.x * g.x / s, 1e-6)
      shared -= g.x * g.y / s
      armVariance = max(armVariance - g.y * g.y / s, 1e-4)
    }
    let rz = 10 * (VehicleConstraint.downwardSigma * VehicleConstraint.downwardSigma + slip * slip + variance.y)
    let sz = velocity.x * velocity.x * pitchVariance + rz
    let downward = velocity.z - pitch * velocity.x
    if downward * downward < 10.83 * sz {
      let k = pitchVariance * velocity.x / sz
      pitch += k * downward
      pitchVariance = max(pitchVariance * (1 - k * velocity.x), 1e-6)
    }
  }
}
