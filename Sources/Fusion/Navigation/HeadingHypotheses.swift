import Glibc

/// Finds the heading of a sensor by comparing its accelerations with changes of the velocity. It runs a bank of
/// navigation solutions with different initial headings, weighted by how well each predicts the fixes.
///
/// The method needs accelerations, but no vehicle that moves nose first. Each solution corrects its own level and
/// biases, and long curves of a road do not mislead the method.
struct HeadingHypotheses: Sendable {
  private static let count = 8
  /// The initial sigma of each hypothesis in radians, half their spacing.
  private static let headingSigma = 0.4
  /// The heading is found once the sigma of the mixture is below this, in radians, and the best solution fits.
  private static let sharpEnough = 0.15
  /// The best solution fits while its smoothed squared innovation, with six degrees of freedom, is below this.
  private static let largestSurprise = 12.0
  /// After this many fixes, a bank whose best solution still fits badly is discarded. The next fix in motion starts
  /// another bank.
  private static let patience = 60

  private var solutions: [NavigationSolution] = []
  private var weights: [Double] = []
  private var surprise = 20.0
  private var fixCount = 0

  init() {
    solutions.reserveCapacity(HeadingHypotheses.count)
    weights.reserveCapacity(HeadingHypotheses.count)
  }

  var isRunning: Bool { !solutions.isEmpty }

  mutating func reset() {
    solutions.removeAll(keepingCapacity: true)
    weights.removeAll(keepingCapacity: true)
    surprise = 20
    fixCount = 0
  }

  /// - Parameter start: a levelled solution with an arbitrary heading
  mutating func begin(with start: NavigationSolution) {
    reset()
    for index in 0..<HeadingHypotheses.count {
      var solution = start
      let turn = 2 * .pi * Double(index) / Double(HeadingHypotheses.count)
      solution.attitude = (Quaternion(about: turn) * start.attitude).normalized
      solution.covariance.tt.rows.2.z = HeadingHypotheses.headingSigma * HeadingHypotheses.headingSigma
      solutions.append(solution)
      weights.append(1 / Double(HeadingHypotheses.count))
    }
  }

  mutating func propagate(
    gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, to now: Double, _ noise: NavigationFilter.Noise
  ) {
    for index in solutions.indices {
      solutions[index].propagate(gyroscope: gyroscope, accelerometer: accelerometer, to: now, noise)
    }
  }

  /// Processes a fix. Returns the solution that has proved correct, if there is one.
  ///
  /// - Parameters:
  ///   - position, velocity: compute the observation of the fix for a solution
  mutating func correct(
    position: (NavigationSolution) -> NavigationSolution.Observation,
    velocity: (NavigationSolution) -> NavigationSolution.Observation
  ) -> NavigationSolution? {
    var sum = 0.0
    var best = (index: 0, weight: 0.0, surprise: 0.0)
    for index in solutions.indices {
      let byPosition = position(solutions[index])
      let positionFit = solutions[index].fit(byPosition)
      solutions[index].correct(byPosition)
      let byVelocity = velocity(solutions[index])
      let velocityFit = solutions[index].fit(byVelocity)
      solutions[index].correct(byVelocity)
      let likelihood = exp(-0.5 * min(positionFit.surprise + velocityFit.surprise, 200))
      let spread = (positionFit.determinant * velocityFit.determinant).squareRoot()
      weights[index] *= spread > 0 ? likelihood / spread : 0
      sum += weights[index]
      if weights[index] > best.weight {
        best = (index, weights[index], positionFit.surprise + velocityFit.surprise)
      }
    }
    guard sum > 0, sum.isFinite, solutions.allSatisfy(\.isFinite) else {
      reset()
      return nil
    }
    fixCount += 1
    surprise += 0.15 * (min(best.surprise, 100) - surprise)
    // Every hypothesis keeps some weight, because the correct one may fit badly at first.
    for index in weights.indices { weights[index] = max(weights[index] / sum, 1e-9) }
    if surprise < HeadingHypotheses.largestSurprise, sharpness < HeadingHypotheses.sharpEnough {
      return solutions[best.index]
    }
    if fixCount > HeadingHypotheses.patience, surprise > HeadingHypotheses.largestSurprise { reset() }
    return nil
  }

  /// The standard deviation of the heading over the whole mixture in radians.
  private var sharpness: Double {
    var c = 0.0
    var s = 0.0
    for index in solutions.indices {
      c += weights[index] * cos(solutions[index].attitude.yaw)
      s += weights[index] * sin(solutions[index].attitude.yaw)
    }
    let mean = atan2(s, c)
    var variance = 0.0
    for index in solutions.indices {
      var difference = solutions[index].attitude.yaw - mean
      difference -= (difference / (2 * .pi)).rounded() * 2 * .pi
      variance += weights[index] * (solutions[index].covariance.tt.rows.2.z + difference * difference)
    }
    return variance.squareRoot()
  }
}
