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
