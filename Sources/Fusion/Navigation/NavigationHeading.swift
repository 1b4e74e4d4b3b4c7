import Glibc

/// The heading that a receiver with two antennas states.
extension NavigationFilter {
  /// The 99.9 % quantile of chi-square with one degree of freedom.
  private static let headingGate = 10.83
  /// The smallest sigma in radians. Receivers round small values to zero.
  private static let headingFloor = 0.005
  /// Refused headings that agree with each other form a series. If a series lasts longer than this many seconds, its
  /// headings are accepted, except in a moving vehicle, whose course shows the heading. If two refused headings are
  /// further apart than this, the second one begins a new series.
  private static let headingPatience = 10.0
  /// How far the headings of a series may differ in radians, apart from their sigma.
  private static let headingSteadiness = 0.2
  /// The speed in m/s from which a vehicle's course shows its heading.
  private static let courseSpeed = 2.0
  /// The speed in m/s from which a vehicle certainly does not drive backwards.
  private static let forwardSpeed = 8.0
  /// How far the heading of a vehicle may differ from its course in radians, apart from its sigma: in a curve, and with
  /// an antenna far from the axle.
  private static let courseTolerance = 0.6
  /// After this many consecutive fixes whose course contradicts the stated heading, no stated heading is used.
  private static let mostContradictions = 3
  /// For this many seconds after a stated heading, a compass adds nothing.
  private static let headingLifetime = 10.0

  /// A series of headings that contradict the solution by about the same angle.
  struct HeadingRefusal: Sendable {
    var since: Double
    var last: Double
    /// The difference of the last heading from the solution's, radians.
    var innovation: Double
  }

  /// Applies the heading of a fix at the fix's own time.
  mutating func correctHeading(_ fix: GNSSMeasurement, sinceLast: Double) {
    guard !isHeadingDoubted, let stated = fix.validHeading, let now = solution else { return }
    let sigma = max(stated.sigmaRadians, NavigationFilter.headingFloor)
    var innovation = stated.radians - now.attitude.yaw
    innovation -= (innovation / (2 * .pi)).rounded() * 2 * .pi
    let square = innovation * innovation
    if square > NavigationFilter.headingGate * (now.covariance.tt.rows.2.z + sigma * sigma) {
      let since = refuseHeading(innovation, sigma: sigma, at: fix.time)
      let isContradicted = configuration.isVehicle && now.velocity.length > NavigationFilter.courseSpeed
      guard fix.time - since > NavigationFilter.headingPatience, !isContradicted else { return }
      solution?.covariance.tt.rows.2.z += square
    }
    headingRefusal = nil
    headingStatedAt = fix.time
    // The errors of successive headings are correlated. Each heading therefore gets a larger variance.
    let repetition = sinceLast.isFinite ? 1 + 2 * configuration.correlationTime / max(sinceLast, 0.01) : 1
    solution?.correct(
      ErrorCovariance.Row(t: SIMD3(0, 0, 1)), innovation: innovation, variance: repetition * sigma * sigma)
  }

  /// Compares the heading of a fix with the course of the vehicle. The heading is wrong if the angle between the
  /// antennas and the bow is not configured. A solution with that heading would refuse fixes, so it is discarded.
  mutating func compareHeadingWithCourse(_ fix: GNSSMeasurement) {
    guard !isHeadingDoubted, let stated = fix.validHeading,
      let isContradicted = contradictsCourse(stated.radians, sigma: stated.sigmaRadians, of: fix)
    else { return }
    headingContradictions = isContradicted ? headingContradictions + 1 : 0
    guard headingContradictions >= NavigationFilter.mostContradictions else { return }
    isHeadingDoubted = true
    if let now = solution, contradictsCourse(now.attitude.yaw, sigma: 0, of: fix) ?? false { abandon() }
  }

  /// Whether a heading contradicts the course of a vehicle; `nil` if the course is unknown.
  private func contradictsCourse(_ heading: Double, sigma: Double, of fix: GNSSMeasurement) -> Bool? {
    guard configuration.isVehicle, let velocity = fix.validVelocity else { return nil }
    let speed = (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot()
    let velocitySigma = max(fix.velocitySigma.x, fix.velocitySigma.y)
    guard speed > NavigationFilter.courseSpeed, speed > 10 * velocitySigma else { return nil }
    var difference = heading - atan2(velocity.y, velocity.x)
    difference -= (difference / (2 * .pi)).rounded() * 2 * .pi
    let angle = abs(difference)
    let tolerance = NavigationFilter.courseTolerance + 3 * sigma
    // The vehicle may drive backwards.
    if angle > .pi - tolerance, speed < NavigationFilter.forwardSpeed { return nil }
    return angle > tolerance
  }

  /// Adds a heading to the series of refused ones, or begins a new series.
  ///
  /// - Returns: when the series began
  private mutating func refuseHeading(_ innovation: Double, sigma: Double, at time: Double) -> Double {
    var since = time
    if let before = headingRefusal, time - before.last <= NavigationFilter.headingPatience {
      var change = innovation - before.innovation
      change -= (change / (2 * .pi)).rounded() * 2 * .pi
      if abs(change) < NavigationFilter.headingSteadiness + 3 * sigma { since = before.since }
    }
    headingRefusal = HeadingRefusal(since: since, last: time, innovation: innovation)
    return since
  }

  /// Whether a stated heading makes the compass superfluous.
  @inline(__always) func hasStatedHeading(at time: Double) -> Bool {
    headingStatedAt.map { time - $0 < NavigationFilter.headingLifetime } ?? false
  }

  /// The angle by which to rotate the levelled attitude to the heading of a fix, and its sigma.
  func turn(to heading: StatedHeading, of fix: GNSSMeasurement) -> (turn: Double, sigma: Double) {
    // The board may have turned since the fix.
    let turned = abs(latestRate.z) * max(0, (time ?? fix.time) - fix.time)
    return (
      heading.radians - orientation.attitude.yaw, max(heading.sigmaRadians, NavigationFilter.headingFloor) + turned
    )
  }
}
