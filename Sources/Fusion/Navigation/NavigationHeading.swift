/// The heading that a receiver with two antennas states.
extension NavigationFilter {
  /// The 99.9 % quantile of chi-square with one degree of freedom.
  private static let headingGate = 10.83
  /// The smallest sigma in radians. Receivers round small values to zero.
  private static let headingFloor = 0.005
  /// After headings that agree with each other have been refused for this many seconds, they are accepted, unless the
  /// course of a vehicle contradicts them. A longer pause begins a new series.
  private static let headingPatience = 10.0
  /// How far the headings of a series may differ in radians, apart from their sigma.
  private static let headingSteadiness = 0.2
  /// The speed in m/s from which a vehicle's course shows its heading.
  private static let courseSpeed = 2.0
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
    guard let stated = fix.validHeading, let now = solution else { return }
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
