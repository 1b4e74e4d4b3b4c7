extension NavigationFilter {
  /// What the sensors are like, and how they are mounted.
  public struct Configuration: Equatable, Sendable {
    /// The antenna as seen from the IMU: forward, right, down, metres.
    public var leverArm = SIMD3<Double>.zero
    /// Moves on wheels, nose first: heading from course, and no sideways or vertical velocity.
    public var isVehicle = false
    /// Seconds between inertial samples.
    public var interval = 0.01
    /// Of all sensors that may take over.
    public var shortestInterval: Double?
    /// Seconds between those that come with a magnetic field; `nil` where each does.
    public var magneticInterval: Double?
    /// The earth's field as a calibrated magnetometer sees it, microtesla; `nil` for one that is not calibrated.
    public var magneticStrength: Double?
    /// The latest that a fix may come after its time, seconds.
    public var latestFix = 0.5
    /// For how long a receiver's position errors stay the same, seconds; 0 for independent errors.
    public var correlationTime = 0.0
    /// How well the time of a fix is known, seconds.
    public var timingSigma = 0.05
    public var noise = Noise()

    public init() {}
  }

  /// Noise of a consumer MEMS sensor on a moving body, vibration and scale errors included.
  public struct Noise: Equatable, Sendable {
    /// m/s² per root Hz
    public var acceleration = 0.02
    /// rad/s per root Hz
    public var rate = 0.0008
    /// Of the rate that a scale error lets through, per root Hz.
    public var gyroscopeScale = 0.01
    /// rad/s per root second
    public var gyroscopeBiasWander = 2e-5
    /// m/s² per root second
    public var accelerometerBiasWander = 3e-4

    public init() {}
  }
}

extension NavigationFilter.Configuration {
  private static let positionFloor = 0.02
  private static let velocityFloor = 0.05

  /// What a solution makes of a fix's position.
  ///
  /// - Parameter repetition: how many fixes are worth one
  func positionObservation(
    _ fix: GNSSMeasurement, _ solution: NavigationSolution, repetition: Double = 1
  ) -> NavigationSolution.Observation {
    let floor = NavigationFilter.Configuration.positionFloor
    let sigma = pointwiseMax(fix.positionSigma, SIMD3(repeating: floor))
    let timing = timingSigma * solution.velocity
    return solution.observation(
      position: fix.position, variance: repetition * sigma * sigma + timing * timing,
      leverArm: fix.leverArm ?? leverArm)
  }

  /// What a solution makes of a fix's velocity.
  func velocityObservation(
    _ fix: GNSSMeasurement, measured: SIMD3<Double>, _ solution: NavigationSolution, gyroscope: SIMD3<Double>
  ) -> NavigationSolution.Observation {
    let floor = NavigationFilter.Configuration.velocityFloor
    let sigma = pointwiseMax(fix.velocitySigma, SIMD3(repeating: floor))
    return solution.observation(
      velocity: measured, variance: sigma * sigma, leverArm: fix.leverArm ?? leverArm, gyroscope: gyroscope)
  }
}

@inline(__always)
func pointwiseMax(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
  SIMD3(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z))
}
