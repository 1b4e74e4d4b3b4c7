/// The constraint that a wheeled vehicle moves neither sideways nor vertically. The mounting of its sensor is learnt
/// while fixes arrive: the axes differ from the wheels' by a degree or two, and a sensor ahead of the rear axle moves
/// sideways in a bend.
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
  /// The variances of yaw and arm and their covariance, and the variance of pitch.
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
