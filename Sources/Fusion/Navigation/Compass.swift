/// The heading that a magnetometer gives, as the navigation asks for it: now and then, as its errors last.
struct Compass: Sendable {
  struct Reading {
    /// Radians from true north.
    var heading: Double
    /// Radians.
    var sigma: Double
  }

  /// Of a magnetometer that is calibrated, and of one that is not, radians, where the horizontal field is
  /// `usualField` microtesla. Near the magnetic poles it is weaker, and the same disturbance turns it further.
  private static let calibratedSigma = 0.05
  private static let uncalibratedSigma = 0.25
  private static let usualField = 20.0
  /// The magnetic north lies so far off, in most places.
  private static let declinationSigma = 0.2
  /// Of a declination by the world's model, radians: everywhere, and times the horizontal field in
  /// microtesla (the error model of WMM2025, which has iron in the ground in it).
  private static let modelSigma = 0.26 * Double.pi / 180
  private static let modelFieldSigma = 5.417 * Double.pi / 180
  /// Beyond half a turn nothing is less certain.
  private static let largestSigma = Double.pi
  /// What the gyroscope makes of the heading in each second without a magnetic field, rad/s.
  private static let headingDrift = 0.002
  /// A field that is older than so many intervals, and than a second, is none.
  private static let lifetime = (intervals: 3.0, seconds: 1.0)
  private static let secondsBetweenReadings = 1.0

  private let isCalibrated: Bool
  private let lifetimeSeconds: Double
  /// How far east of true north the magnetic north lies, radians; `nil` while that is not known.
  var declination: Double?
  /// A heading that fixes have refuted twice is not asked for again.
  var isDoubted = false
  private var sinceReading = 0.0

  init(_ configuration: NavigationFilter.Configuration) {
    isCalibrated = configuration.magneticStrength != nil
    lifetimeSeconds = max(
      Compass.lifetime.seconds,
      Compass.lifetime.intervals * (configuration.magneticInterval ?? configuration.interval))
  }

  // Inlined: to be asked by a call, the filter would first be copied whole.

  /// One standard deviation, radians.
  @inline(__always) func sigma(_ orientation: OrientationFilter) -> Double {
    let isGood = isCalibrated && !orientation.isMagneticallyDisturbed
    let field = max(orientation.horizontalFieldMicrotesla ?? Compass.usualField, 1e-3)
    let weakness = max(1, Compass.usualField / field)
    let sigma = weakness * (isGood ? Compass.calibratedSigma : Compass.uncalibratedSigma)
    let drift = Compass.headingDrift * orientation.secondsSinceField
    let variance = sigma * sigma + declinationVariance(field: field) + drift * drift
    return min(variance.squareRoot(), Compass.largestSigma)
  }

  /// - Parameter field: the horizontal one, microtesla
  @inline(__always) private func declinationVariance(field: Double) -> Double {
    guard declination != nil else { return Compass.declinationSigma * Compass.declinationSigma }
    let byField = Compass.modelFieldSigma / field
    return Compass.modelSigma * Compass.modelSigma + byField * byField
  }

  /// Where it points the board; `nil` where it is not to be trusted.
  @inline(__always) func reading(_ orientation: OrientationFilter) -> Reading? {
    guard orientation.hasHeading, !orientation.isMagneticallyDisturbed, !isDoubted,
      orientation.secondsSinceField <= lifetimeSeconds
    else { return nil }
    return Reading(heading: orientation.attitude.yaw + (declination ?? 0), sigma: sigma(orientation))
  }

  /// Whether it is to be asked, so many seconds after the last time that this was.
  mutating func isDue(after seconds: Double) -> Bool {
    sinceReading += seconds
    guard sinceReading >= Compass.secondsBetweenReadings else { return false }
    sinceReading = 0
    return true
  }
}
