/// Provides the magnetometer's heading to the navigation at intervals, because consecutive headings share their errors.
struct Compass: Sendable {
  struct Reading {
    /// The heading in radians from true north, or from magnetic north while the declination is unknown.
    var heading: Double
    /// The sigma in radians.
    var sigma: Double
  }

  /// The sigma of a calibrated magnetometer's heading in radians, at a horizontal field of `usualField`. Near the
  /// magnetic poles the horizontal field is weaker, and the same disturbance causes a larger error.
  private static let calibratedSigma = 0.05
  /// The sigma of an uncalibrated magnetometer's heading in radians, at the same field.
  private static let uncalibratedSigma = 0.25
  /// A usual horizontal field, in microtesla.
  private static let usualField = 20.0
  /// The sigma of the declination in radians while it is unknown.
  private static let declinationSigma = 0.2
  /// The constant part of the declination's sigma in radians, by the error model of WMM2025, which includes iron in the
  /// ground.
  private static let modelSigma = 0.26 * Double.pi / 180
  /// The other part of the declination's sigma is this value divided by the horizontal field in microtesla.
  private static let modelFieldSigma = 5.417 * Double.pi / 180
  /// A heading cannot be less certain than half a turn.
  private static let largestSigma = Double.pi
  /// The drift of the heading without a magnetic field, in rad/s.
  private static let headingDrift = 0.002
  /// A field is outdated if it is older than this number of intervals, and older than this number of seconds.
  private static let lifetime = (intervals: 3.0, seconds: 1.0)
  private static let secondsBetweenReadings = 1.0
  private static let firstDoubtSeconds = 600.0
  private static let longestDoubtSeconds = 86_400.0

  private let isCalibrated: Bool
  private let lifetimeSeconds: Double
  /// The angle from true to magnetic north, positive to the east, in radians; `nil` while unknown.
  var declination: Double?
  /// The seconds for which the heading is not used, because fixes have contradicted it twice. The fixes may have been
  /// wrong, so a doubt ends; each further one lasts twice as long.
  private var doubtSeconds = 0.0
  private var doubts = 0
  private var sinceReading = 0.0

  init(_ configuration: NavigationFilter.Configuration) {
    isCalibrated = configuration.magneticStrength != nil
    lifetimeSeconds = max(
      Compass.lifetime.seconds,
      Compass.lifetime.intervals * (configuration.magneticInterval ?? configuration.interval))
  }

  // Inlined, because a call would copy the whole filter.

  /// The standard deviation of the heading in radians.
  @inline(__always) func sigma(_ orientation: OrientationFilter) -> Double {
    let isGood = isCalibrated && !orientation.isMagneticallyDisturbed
    let field = max(orientation.horizontalFieldMicrotesla ?? Compass.usualField, 1e-3)
    let weakness = max(1, Compass.usualField / field)
    let sigma = weakness * (isGood ? Compass.calibratedSigma : Compass.uncalibratedSigma)
    let drift = Compass.headingDrift * orientation.secondsSinceField
    let variance = sigma * sigma + declinationVariance(field: field) + drift * drift
    return min(variance.squareRoot(), Compass.largestSigma)
  }

  /// - Parameter field: the horizontal field, microtesla
  @inline(__always) private func declinationVariance(field: Double) -> Double {
    guard declination != nil else { return Compass.declinationSigma * Compass.declinationSigma }
    let byField = Compass.modelFieldSigma / field
    return Compass.modelSigma * Compass.modelSigma + byField * byField
  }

  /// The heading of the board; `nil` if it cannot be trusted.
  @inline(__always) func reading(_ orientation: OrientationFilter) -> Reading? {
    guard orientation.hasHeading, !orientation.isMagneticallyDisturbed, doubtSeconds <= 0,
      orientation.secondsSinceField <= lifetimeSeconds
    else { return nil }
    return Reading(heading: orientation.attitude.yaw + (declination ?? 0), sigma: sigma(orientation))
  }

  /// Lets time pass: a doubt ends.
  @inline(__always) mutating func goOn(_ seconds: Double) {
    if doubtSeconds > 0 { doubtSeconds -= seconds }
  }

  /// Begins a doubt, because fixes have contradicted the heading twice.
  mutating func doubt() {
    doubtSeconds = min(Compass.firstDoubtSeconds * Double(1 << min(doubts, 10)), Compass.longestDoubtSeconds)
    doubts += 1
  }

  /// Whether a reading is due, given the seconds since the previous call.
  mutating func isDue(after seconds: Double) -> Bool {
    sinceReading += seconds
    guard sinceReading >= Compass.secondsBetweenReadings else { return false }
    sinceReading = 0
    return true
  }
}
