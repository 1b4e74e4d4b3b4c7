extension NavigationFilter {
  /// The properties of the sensors, of the receiver and of their mounting, and the assumed noise.
  public struct Configuration: Equatable, Sendable {
    /// The position of the antenna relative to the IMU: forward, right, down, in metres.
    public var leverArm = SIMD3<Double>.zero
    /// Whether the sensors are on a vehicle with wheels that moves nose first. Its heading then follows the course,
    /// and it has no sideways or vertical velocity.
    public var isVehicle = false
    /// The time between inertial samples in seconds.
    public var interval = 0.01
    /// The shortest interval between samples, in seconds, of all inertial sensors that may be used in turn.
    public var shortestInterval: Double?
    /// The time between samples with a magnetic field in seconds; `nil` if every sample has one.
    public var magneticInterval: Double?
    /// The strength of the earth's field measured by a calibrated magnetometer in microtesla; `nil` without a
    /// calibration.
    public var magneticStrength: Double?
    /// The largest delay of a fix in seconds.
    public var latestFix = 0.5
    /// The correlation time of a receiver's position errors in seconds; 0 for independent errors.
    public var correlationTime = 0.0
    /// The uncertainty of the time of a fix in seconds.
    public var timingSigma = 0.05
    public var noise = Noise()

    public init() {}
  }

  /// The noise of a consumer MEMS sensor on a moving body, including vibration and scale errors.
  public struct Noise: Equatable, Sendable {
    /// The noise of the acceleration in m/s² per √Hz.
    public var acceleration = 0.02
    /// The noise of the rate in rad/s per √Hz.
    public var rate = 0.0008
    /// The noise from scale errors, as a share of the rate, per √Hz.
    public var gyroscopeScale = 0.01
    /// The random walk of the gyroscope bias in rad/s per √s.
    public var gyroscopeBiasWander = 2e-5
    /// The random walk of the accelerometer bias in m/s² per √s.
    public var accelerometerBiasWander = 3e-4

    public init() {}
  }
}

extension NavigationFilter.Configuration {
  private static let positionFloor = 0.02
  private static let velocityFloor = 0.05

  /// The position of a fix as an observation, which corrects a solution.
  ///
  /// - Parameter repetition: the number of fixes that count as one because they share their errors
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

  /// The velocity of a fix as an observation, which corrects a solution.
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
