/// Corrects the solution by a fix, at the fix's own time. A fix may be accepted, weighted less, refused, or used to
/// restart the solution.
extension NavigationFilter {
  private static let refusal = 100.0
  /// If all fixes are refused for this many seconds although none has jumped, the solution restarts from the latest
  /// fix.
  private static let patience = JumpRule.patience
  /// If a restart follows the previous one within this number of seconds, the heading counts as wrong.
  private static let restartPause = 60.0
  /// If a restart follows the previous one within this number of seconds, a heading that the receiver states counts as
  /// wrong.
  private static let statedRestartPause = 300.0
  /// The largest sigma that any receiver has under open sky, in metres.
  private static let soberSigma = 5.0

  mutating func correctPosition(_ fix: GNSSMeasurement, sinceLast: Double) {
    guard let now = solution else { return }
    // The errors of successive fixes are correlated. Each fix therefore gets a larger variance.
    let repetition = sinceLast.isFinite ? 1 + 2 * configuration.correlationTime / max(sinceLast, 0.01) : 1
    // The fix is judged by its own variance, because a larger variance would make an implausible fix plausible.
    let single = configuration.positionObservation(fix, now)
    let variance = now.covariance.pp.diagonal + single.variance
    latestInnovation = (single.innovation, variance)
    if sinceLast.isFinite, sinceLast > NavigationFilter.aidedSeconds {
      let ratio = JumpRule.horizontal(single.innovation) / (variance.x + variance.y).squareRoot()
      reckoningCheck = (fix.time, ratio)
    }
    let taken = configuration.positionObservation(fix, now, repetition: repetition)
    let surprise = now.surprise(single)
    disagreement = surprise > NavigationFilter.gate ? JumpRule.horizontal(single.innovation) : nil
    let agreement = now.time - max(alignedAt, lastRestart)
    if jumps.refusesRepetition(fix, offset: single.innovation, speed: now.sureSpeed, agreement: agreement) {
      refusedCount += 1
      return
    }
    // A fix of a receiver that has jumped, or that reports spoofing, is accepted or refused, but never weighted less.
    let isSuspect = jumps.contradiction != nil || fix.trust == .doubted
    if !isSuspect || now.surprise(sober(fix, now)) < NavigationFilter.gate,
      let observation = credible(taken, surprise: surprise)
    {
      if jumps.contradiction != nil, JumpRule.horizontal(single.innovation) > JumpRule.leastJump {
        // The fix passed only because the solution has become uncertain. Such a large correction would wrongly change
        // velocity and attitude too.
        return restart(fix)
      }
      jumps.agreed(single.innovation)
      solution?.correct(observation)
      lastAccepted = fix.time
      return
    }
    refusedCount += 1
    switch jumps.judge(fix, offset: single.innovation, pause: sinceLast, agreement: agreement) {
    case .refuse: break
    case .none: if fix.trust != .doubted, fix.time - lastAccepted > NavigationFilter.patience { restart(fix) }
    case .take: restart(fix)
    }
  }

  /// The observation of the fix with a horizontal sigma of at most `soberSigma`. A sigma that was increased because of
  /// jamming or spoofing must not make a jump plausible.
  private func sober(_ fix: GNSSMeasurement, _ now: NavigationSolution) -> NavigationSolution.Observation {
    var fix = fix
    let most = NavigationFilter.soberSigma
    fix.positionSigma = SIMD3(
      min(fix.positionSigma.x, most), min(fix.positionSigma.y, most), fix.positionSigma.z)
    return configuration.positionObservation(fix, now)
  }

  mutating func correctVelocity(_ fix: GNSSMeasurement, gyroscope: SIMD3<Double>) {
    guard let measured = fix.validVelocity, let now = solution else { return }
    let observation = configuration.velocityObservation(fix, measured: measured, now, gyroscope: gyroscope)
    guard let credible = credible(observation, surprise: now.surprise(observation)) else { return }
    solution?.correct(credible)
    if configuration.isVehicle { learn(gyroscope) }
  }

  /// The observation with a plausible variance. Beyond the gate, a larger innovation counts less, because receivers
  /// that report a sigma of centimetres are off by decimetres in a curve. Far beyond the gate, the observation is
  /// refused.
  private func credible(
    _ observation: NavigationSolution.Observation, surprise: Double
  ) -> NavigationSolution.Observation? {
    guard surprise < NavigationFilter.refusal else { return nil }
    var observation = observation
    if surprise > NavigationFilter.gate {
      // Add the squared innovation to the reported variance.
      observation.variance += observation.innovation * observation.innovation
    }
    return observation
  }

  private mutating func learn(_ gyroscope: SIMD3<Double>) {
    guard let now = solution, now.time - alignedAt > 20 else { return }
    let (value, _, byAttitude) = now.bodyVelocity
    guard value.x > 3 else { return }
    func variance(_ row: SIMD3<Double>) -> Double { dot(row, now.covariance.tt * row) }
    vehicle.learn(
      velocity: value, yawRate: gyroscope.z - now.gyroscopeBias.z,
      variance: SIMD2(variance(byAttitude.rows.1), variance(byAttitude.rows.2)))
  }

  /// Restarts the position from the fix after all fixes were refused for too long. If a second restart is needed soon
  /// after the first, the heading must be wrong. A receiver that states a wrong heading states it again after the
  /// restart, which turns the solution back to this heading. The limit for the time between the two restarts is then
  /// longer.
  private mutating func restart(_ fix: GNSSMeasurement) {
    let isStated = hasStatedHeading(at: fix.time)
    let pause = isStated ? NavigationFilter.statedRestartPause : NavigationFilter.restartPause
    guard let now = solution, now.time - lastRestart > pause else {
      if isStated { isHeadingDoubted = true } else { compass.doubt() }
      return abandon()
    }
    lastRestart = now.time
    lastAccepted = fix.time
    disagreement = nil
    jumps.reset()
    let arm = now.attitude.rotate(fix.leverArm ?? configuration.leverArm)
    solution?.position = fix.position.moved(by: -arm)
    let positionSigma = fix.positionSigma + SIMD3(repeating: 0.05)
    solution?.covariance.restartPosition(variance: positionSigma * positionSigma)
    if let velocity = fix.validVelocity {
      solution?.velocity = velocity
      let velocitySigma = fix.velocitySigma + SIMD3(repeating: 0.05)
      solution?.covariance.restartVelocity(variance: velocitySigma * velocitySigma)
    } else {
      solution?.covariance.restartVelocity(variance: SIMD3(repeating: 25))
    }
    solution?.covariance.tt.rows.2.z += 0.25
  }
}
