import Glibc

/// The start of the navigation. A fix provides position and velocity, and gravity provides the level. The heading comes
/// from two antennas, from the course, from the compass, or from a comparison of several headings.
extension NavigationFilter {
  private static let alignmentSpeed = 2.0

  mutating func align(_ fix: GNSSMeasurement) {
    guard orientation.isLevelled, max(fix.positionSigma.x, fix.positionSigma.y) < 50 else { return }
    guard let (turn, sigma) = heading(fix) else { return compareHypotheses(fix) }
    var start = startingPoint(fix)
    start.attitude = (Quaternion(about: turn) * start.attitude).normalized
    start.covariance.tt.rows.2.z = sigma * sigma
    lastAccepted = fix.time
    begin(start)
  }

  /// A solution from a fix and the level, with an arbitrary heading.
  private func startingPoint(_ fix: GNSSMeasurement) -> NavigationSolution {
    let now = time ?? fix.time
    let velocity = fix.validVelocity ?? .zero
    let velocitySigma = fix.validVelocity == nil ? SIMD3(repeating: 5) : fix.velocitySigma
    let age = now - fix.time
    let positionSigma =
      fix.positionSigma + SIMD3(repeating: 0.05 + 0.5 * age + (fix.leverArm ?? configuration.leverArm).length)
    let biasSigma = orientation.gyroscopeBiasSigma
    // The sideways acceleration in curves tilts a vertical that is estimated in motion, most in sharp curves.
    let isLevel = orientation.isAtRest || now - startedAt > 20 && velocity.length < 1
    let tiltSigma = isLevel ? 0.03 : max(0.15, orientation.inclinationSigma)
    let tilt = tiltSigma * tiltSigma
    return NavigationSolution(
      time: now, position: fix.position.moved(by: age * velocity), velocity: velocity, attitude: orientation.attitude,
      gyroscopeBias: orientation.gyroscopeBias, accelerometerBias: .zero,
      covariance: ErrorCovariance(
        position: positionSigma * positionSigma, velocity: velocitySigma * velocitySigma + SIMD3(repeating: 0.04),
        attitude: SIMD3(tilt, tilt, 1),
        gyroscopeBias: biasSigma * biasSigma + SIMD3(repeating: 1e-7),
        accelerometerBias: SIMD3(repeating: 0.04)))
  }

  /// The angle by which to rotate the levelled attitude, and its sigma, in radians; `nil` while unknown.
  private func heading(_ fix: GNSSMeasurement) -> (turn: Double, sigma: Double)? {
    if !isHeadingDoubted, let stated = fix.validHeading { return turn(to: stated, of: fix) }
    if configuration.isVehicle {
      guard let velocity = fix.validVelocity else { return nil }
      let speed = (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot()
      let sigma = max(fix.velocitySigma.x, fix.velocitySigma.y)
      guard speed > max(NavigationFilter.alignmentSpeed, 3 * sigma) else {
        // At rest only the compass provides a heading, and in a vehicle only a compass that was calibrated in the
        // vehicle.
        return configuration.magneticStrength == nil ? nil : turnToCompass
      }
      return (atan2(velocity.y, velocity.x) - orientation.attitude.yaw, sigma / speed + 0.06)
    }
    return turnToCompass
  }

  private var turnToCompass: (turn: Double, sigma: Double)? {
    compass.reading(orientation).map { ($0.heading - orientation.attitude.yaw, $0.sigma) }
  }

  /// Compares the hypotheses with the fix. The hypotheses run only while the sensor moves, because headings cannot be
  /// compared at rest.
  private mutating func compareHypotheses(_ fix: GNSSMeasurement) {
    guard !configuration.isVehicle, let velocity = fix.validVelocity, let time else { return }
    guard hypotheses.isRunning else {
      let moving = max(0.5, 3 * max(fix.velocitySigma.x, fix.velocitySigma.y))
      if velocity.length > moving { hypotheses.begin(with: startingPoint(fix)) }
      return
    }
    // The fix is moved to the present, because the hypotheses cannot go back in time.
    let age = time - fix.time
    var late = fix
    late.position = fix.position.moved(by: age * velocity)
    let found = hypotheses.correct(
      position: { [configuration, late] in configuration.positionObservation(late, $0) },
      velocity: { [configuration, late, latestRate] in
        var observation = configuration.velocityObservation(late, measured: velocity, $0, gyroscope: latestRate)
        // The velocity may have changed since the fix, with a sigma of 1 m/s per second.
        observation.variance += SIMD3(repeating: age * age)
        return observation
      })
    guard let found else { return }
    lastAccepted = fix.time
    begin(found)
  }
}
