import Glibc

/// Finds the heading of a levelled sensor from how the receiver's velocity changes when the accelerometer pushes: a bank
/// of small filters, each starting from another heading, weighted by how well it foretells the velocity.
///
/// It needs accelerations, not a vehicle that moves nose first.
struct HeadingHypotheses: Sendable {
  private static let count = 12
  /// Of the horizontal acceleration, m/s² per root Hz: bias and tilt, mostly.
  private static let accelerationNoise = 0.3
  /// rad per root second.
  private static let headingNoise = 0.005
  private static let velocityFloor = 0.15

  private struct Model: Sendable {
    /// Velocity north and east, m/s.
    var velocity = SIMD2<Double>.zero
    /// Angle from the levelled frame's first axis to north, radians.
    var heading: Double
    var weight: Double
    /// Of velocity north, velocity east, heading.
    var covariance: Matrix3
  }

  private var models: InlineArray<12, Model>
  private var isStarted = false
  /// The best hypothesis' squared surprise, smoothed: two if the accelerometer and the velocity belong together.
  private var surprise = 10.0

  init() {
    models = InlineArray { index in
      Model(
        heading: 2 * .pi * Double(index) / 12, weight: 1.0 / 12,
        covariance: Matrix3(diagonal: SIMD3(100, 100, 0.3)))
    }
  }

  /// - Parameter acceleration: horizontal, in the levelled frame whose heading is sought, m/s²
  mutating func predict(acceleration: SIMD2<Double>, seconds dt: Double) {
    guard isStarted else { return }
    for index in 0..<HeadingHypotheses.count {
      let c = cos(models[index].heading)
      let s = sin(models[index].heading)
      let push = SIMD2(c * acceleration.x - s * acceleration.y, s * acceleration.x + c * acceleration.y) * dt
      models[index].velocity += push
      // The velocity's derivative by the heading is the push, turned left.
      let f = Matrix3(SIMD3(1, 0, -push.y), SIMD3(0, 1, push.x), SIMD3(0, 0, 1))
      let noise = HeadingHypotheses.accelerationNoise * HeadingHypotheses.accelerationNoise * dt
      let drift = HeadingHypotheses.headingNoise * HeadingHypotheses.headingNoise * dt
      models[index].covariance = (f * models[index].covariance * f.transposed).symmetrized
        .addingToDiagonal(SIMD3(noise, noise, drift))
    }
  }

  /// Takes a velocity north and east, m/s.
  mutating func correct(velocity: SIMD2<Double>, sigma: Double) {
    let sigma = max(sigma, HeadingHypotheses.velocityFloor)
    let r = sigma * sigma
    guard isStarted else {
      for index in 0..<HeadingHypotheses.count {
        models[index].velocity = velocity
        models[index].covariance = Matrix3(diagonal: SIMD3(r, r, 0.3))
      }
      isStarted = true
      return
    }
    var sum = 0.0
    var best = (weight: 0.0, surprise: 0.0)
    for index in 0..<HeadingHypotheses.count {
      let p = models[index].covariance
      let a = p.rows.0.x + r, b = p.rows.0.y, d = p.rows.1.y + r
      let determinant = a * d - b * b
      guard determinant > 0 else { continue }
      let innovation = velocity - models[index].velocity
      // S^-1 times the innovation.
      let u = SIMD2(d * innovation.x - b * innovation.y, a * innovation.y - b * innovation.x) / determinant
      let distance = innovation.x * u.x + innovation.y * u.y
      models[index].velocity += SIMD2(p.rows.0.x * u.x + p.rows.0.y * u.y, p.rows.1.x * u.x + p.rows.1.y * u.y)
      models[index].heading += p.rows.2.x * u.x + p.rows.2.y * u.y
      let inverse = (d / determinant, -b / determinant, a / determinant)
      let k0 = SIMD3(p.rows.0.x, p.rows.1.x, p.rows.2.x)
      let k1 = SIMD3(p.rows.0.y, p.rows.1.y, p.rows.2.y)
      let g0 = inverse.0 * k0 + inverse.1 * k1
      let g1 = inverse.1 * k0 + inverse.2 * k1
      models[index].covariance =
        (p
        - Matrix3(
          g0.x * k0 + g1.x * k1, g0.y * k0 + g1.y * k1, g0.z * k0 + g1.z * k1)).symmetrized
      models[index].weight *= exp(-0.5 * min(distance, 100)) / determinant.squareRoot()
      // No hypothesis dies for good: the best may have had a bad start.
      sum += models[index].weight
      if models[index].weight > best.weight { best = (models[index].weight, distance) }
    }
    guard sum > 0, sum.isFinite else {
      self = HeadingHypotheses()
      return
    }
    surprise += 0.1 * (min(best.surprise, 100) - surprise)
    var total = 0.0
    for index in 0..<HeadingHypotheses.count {
      models[index].weight = max(models[index].weight / sum, 1e-6)
      total += models[index].weight
    }
    for index in 0..<HeadingHypotheses.count { models[index].weight /= total }
  }

  /// The weighted mean heading and its sigma, radians; `nil` while none of the hypotheses foretells the velocity.
  var estimate: (heading: Double, sigma: Double)? {
    guard surprise < 4 else { return nil }
    var c = 0.0
    var s = 0.0
    for index in 0..<HeadingHypotheses.count {
      c += models[index].weight * cos(models[index].heading)
      s += models[index].weight * sin(models[index].heading)
    }
    let mean = atan2(s, c)
    var variance = 0.0
    for index in 0..<HeadingHypotheses.count {
      var difference = models[index].heading - mean
      difference -= (difference / (2 * .pi)).rounded() * 2 * .pi
      variance += models[index].weight * (models[index].covariance.rows.2.z + difference * difference)
    }
    return (mean, variance.squareRoot())
  }
}
