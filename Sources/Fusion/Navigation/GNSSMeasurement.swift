/// What a receiver measured, with the sigmas that it claims.
public struct GNSSMeasurement: Equatable, Sendable {
  public enum Trust: Equatable, Sendable {
    /// As its sigmas say.
    case stated
    /// The receiver reports that it is being deceived.
    case doubted
    /// Its phases are fixed against a base.
    case vouched
  }

  /// When it was valid, seconds on the clock of the inertial samples.
  public var time: Double
  /// Of the antenna.
  public var position: GeodeticPosition
  /// One standard deviation north, east, down, metres; thousands of them where a part is not known. Receivers round
  /// theirs to zero: two centimetres are assumed at least.
  public var positionSigma: SIMD3<Double>
  /// Of the antenna; north, east, down, m/s. `nil` where the receiver does not say.
  public var velocity: SIMD3<Double>?
  public var velocitySigma: SIMD3<Double>
  /// The antenna as seen from the IMU: forward, right, down, metres; `nil` for the configuration's.
  public var leverArm: SIMD3<Double>?
  public var trust = Trust.stated

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

  /// The velocity, where there is one that can be one.
  var validVelocity: SIMD3<Double>? {
    guard let velocity, velocity.isFinite, velocity.length < 1e4, velocitySigma.isFinite, velocitySigma.min() >= 0
    else {
      return nil
    }
    return velocity
  }
}
