import Testing

@testable import Fusion

/// Compares the errors of the filter with its sigmas: squared errors over variances, in fifty journeys each.
@Suite(.timeLimit(.minutes(10)))
struct ConsistencyTests {
  static let seeds = 50
  static let seconds = 60.0

  static var configuration: NavigationFilter.Configuration {
    var configuration = NavigationFilter.Configuration()
    configuration.interval = SimulatedJourney.interval
    // The simulated gyroscope has no scale error, and the fixes have exact times.
    configuration.noise.gyroscopeScale = 0
    configuration.timingSigma = 0
    return configuration
  }

  struct Outcome {
    /// Averages over seeds and times, of position, velocity and attitude, divided by the three degrees of freedom.
    var errors = SIMD3<Double>.zero
    /// The correlation of a fix's innovation with the previous one.
    var correlation = 0.0
    /// The share of errors within three sigma.
    var inside = 0.0
    /// The shares of errors within the 95 % bounds: north or east alone, in the plane, and in height.
    var inside95 = SIMD3<Double>.zero
    /// The same shares for the velocity: speed, across the track while moving, climb.
    var velocityInside95 = SIMD3<Double>.zero
  }

  static func run(_ scenario: SimulatedJourney.Scenario) -> Outcome {
    var outcome = Outcome()
    var count = 0.0
    var (insideCount, movingCount) = (0.0, 0.0)
    var (product, square) = (0.0, 0.0)
    for seed in 1...UInt64(seeds) {
      var journey = SimulatedJourney(scenario, seed: seed, noise: configuration.noise)
      var filter = NavigationFilter(configuration)
      filter.begin(journey.disturbedStart())
      var previous: SIMD3<Double>?
      let steps = Int(seconds / SimulatedJourney.interval)
      for step in 1...steps {
        journey.step()
        filter.update(
          gyroscope: journey.gyroscope, accelerometer: journey.accelerometer, time: journey.truth.time)
        if step % 50 == 0, journey.hasFixes {
          filter.update(journey.fix())
          if let (value, variance) = filter.latestInnovation {
            let normalized = value / variance.squareRoot()
            if let previous { product += dot(previous, normalized) }
            square += dot(normalized, normalized)
            previous = normalized
          }
        }
        // Every 1.5 s, because errors close in time are correlated.
        guard step > steps / 4, step % 75 == 0, let solution = filter.solution else { continue }
        outcome.errors += journey.surprise(of: solution) / 3
        count += 1
        let error = journey.truth.position.offset(from: solution.position)
        let sigma = solution.covariance.pp.diagonal.squareRoot()
        for axis in 0..<3 where abs(error[axis]) < 3 * sigma[axis] { insideCount += 1 }
        for axis in 0..<2 where abs(error[axis]) < Confidence.axis * sigma[axis] { outcome.inside95.x += 0.5 }
        let radius = (error.x * error.x + error.y * error.y).squareRoot()
        let horizontal = ((sigma.x * sigma.x + sigma.y * sigma.y) / 2).squareRoot()
        if radius < Confidence.radial * horizontal { outcome.inside95.y += 1 }
        if abs(error.z) < Confidence.axis * sigma.z { outcome.inside95.z += 1 }
        let velocityError = journey.truth.velocity - solution.velocity
        let velocitySigma = solution.covariance.vv.diagonal.squareRoot()
        let level = ((velocitySigma.x * velocitySigma.x + velocitySigma.y * velocitySigma.y) / 2).squareRoot()
        let (speed, trueSpeed) = (solution.velocity.horizontalLength, journey.truth.velocity.horizontalLength)
        let track = solution.velocity / speed
        let across = velocityError.y * track.x - velocityError.x * track.y
        if abs(trueSpeed - speed) < Confidence.speed(speed, sigma: level) { outcome.velocityInside95.x += 1 }
        if trueSpeed > 0 {
          movingCount += 1
          if abs(across) < Confidence.axis * level { outcome.velocityInside95.y += 1 }
        }
        if abs(velocityError.z) < Confidence.axis * velocitySigma.z { outcome.velocityInside95.z += 1 }
      }
    }
    outcome.errors /= count
    outcome.correlation = product / square
    outcome.inside = insideCount / (3 * count)
    outcome.inside95 /= count
    outcome.velocityInside95 /= SIMD3(count, max(1, movingCount), count)
    return outcome
  }

  @Test(arguments: SimulatedJourney.Scenario.allCases)
  func `errors are as large as stated, and successive innovations are uncorrelated`(
    _ scenario: SimulatedJourney.Scenario
  ) {
    let outcome = ConsistencyTests.run(scenario)
    // The 95 % bounds of an average over fifty runs with three degrees of freedom.
    for axis in 0..<3 {
      #expect((0.787...1.239).contains(outcome.errors[axis]), "\(scenario): \(outcome)")
    }
    #expect(abs(outcome.correlation) < 0.05, "\(scenario): \(outcome)")
    #expect(outcome.inside > 0.99, "\(scenario): \(outcome)")
    // Errors stay correlated for about ten seconds, so fifty journeys of 45 s equal about two hundred independent
    // samples: 95 %, plus or minus three times 1.5 %.
    for share in 0..<3 {
      #expect((0.905...0.995).contains(outcome.inside95[share]), "\(scenario): \(outcome)")
      if share == 1, scenario == .parked { continue }
      #expect((0.905...0.995).contains(outcome.velocityInside95[share]), "\(scenario): \(outcome)")
    }
  }
}

extension SIMD3<Double> {
  fileprivate var horizontalLength: Double { (x * x + y * y).squareRoot() }
}
