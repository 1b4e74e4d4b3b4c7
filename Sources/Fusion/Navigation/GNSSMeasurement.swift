/// A receiver's position, velocity and heading at one time, with their sigmas. If the receiver reports no sigma, it is
/// assumed.
public struct GNSSMeasurement: Equatable, Sendable {
  public enum Trust: Equatable, Sendable {
    /// The reported sigmas apply.
    case stated
    /// The receiver reports spoofing.
    case doubted
    /// The carrier phase ambiguities are fixed relative to a base station.
    case vouched
  }

  /// The time of validity in seconds, on the clock of the inertial samples.
  public var time: Double
  /// The position of the antenna.
  public var position: GeodeticPosition
  /// The standard deviations north, east, down in metres. An unknown component has thousands of metres. Receivers
  /// round small values to zero, so at least two centimetres are assumed.
  public var positionSigma: SIMD3<Double>
  /// The velocity of the antenna north, east, down in m/s. `nil` if the receiver does not report it.
  public var velocity: SIMD3<Double>?
  public var velocitySigma: SIMD3<Double>
  /// The position of the antenna relative to the IMU: forward, right, down, in metres. `nil` for the configured one.
  public var leverArm: SIMD3<Double>?
  public var trust = Trust.stated
  /// The heading of the body, measured by a receiver with two antennas; `nil` if the receiver does not report it.
  public var heading: StatedHeading?

  public init(
    time: Double, position: GeodeticPosition, positionSigma: SIMD3<Double>, velocity: SIMD3<Double>? = nil,
    velocitySigma: SIMD3<Double> = SIMD3(repeating: 0.5), leverArm: SIMD3<Double>? = nil
  ) {
    self.time = time
    self.position = position
    self.positionSigma = positionSigma
    self.velocity = velocity
    self.velocitySigma = velocitySigma
    self.leverArm = leverArm
  }

  var isValid: Bool {
    time.isFinite && position.isValid && positionSigma.isFinite && positionSigma.min() >= 0 && positionSigma.max() < 1e4
  }

  /// The heading, if it is present and trustworthy. A spoofed position means a spoofed heading.
  var validHeading: StatedHeading? {
    guard let heading, heading.isValid, trust != .doubted else { return nil }
    return heading
  }

  /// The velocity, if it is present and valid.
  var validVelocity: SIMD3<Double>? {
    guard let velocity, velocity.isFinite, velocity.length < 1e4, velocitySigma.isFinite, velocitySigma.min() >= 0
    else {
      return nil
    }
    return velocity
  }
}

/// Distinguishes receivers that report the mean velocity since the previous fix from those that report the present
/// velocity. It compares both assumptions with the movement of the position.
struct EpochMeanDetector: Sendable {
  private static let forgetting = 0.99
  private static let leastEvidence = 20.0
  private static let ratio = 0.5

  private var previous: GNSSMeasurement?
  /// The decaying sum of the squared misfits in square metres, if velocities are those at the fix.
  private var misfitOfPresent = 0.0
  /// The decaying sum of the squared misfits in square metres, if velocities are means since the previous fix.
  private var misfitOfMean = 0.0
  /// The decaying number of misfits in the sums.
  private var evidence = 0.0

  /// How long before its fix the velocity was valid, in seconds.
  private(set) var velocityAge = 0.0

  mutating func update(_ fix: GNSSMeasurement) {
    defer { previous = fix }
    guard let previous, let before = previous.validVelocity, let now = fix.validVelocity else { return }
    let seconds = fix.time - previous.time
    guard seconds > 0.01, seconds < 1.5 else {
      velocityAge = 0
      return
    }
    // At a constant speed both assumptions fit.
    if (now - before).length > 0.02 {
      let moved = fix.position.offset(from: previous.position)
      let present = moved - 0.5 * seconds * (now + before)
      let mean = moved - seconds * now
      let keep = EpochMeanDetector.forgetting
      misfitOfPresent = keep * misfitOfPresent + dot(present, present)
      misfitOfMean = keep * misfitOfMean + dot(mean, mean)
      evidence = keep * evidence + 1
    }
    let isMean =
      evidence > EpochMeanDetector.leastEvidence && misfitOfMean < EpochMeanDetector.ratio * misfitOfPresent
    velocityAge = isMean ? seconds / 2 : 0
  }
}
