/// Knowledge besides fixes: the vehicle stands still, it moves in the direction of its wheels, and the compass shows
/// its heading.
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
