import Glibc
import MonotonicTime

@testable import Fusion

/// A journey with an exactly known truth. It is propagated by the filter's own arithmetic from known forces and
/// rates, and measured with the noise that the filter assumes.
struct SimulatedJourney {
  enum Scenario: String, CaseIterable {
    /// 30 m/s in long bends.
    case highway
    /// 29 m/s in circles, with a sideways force almost as large as gravity.
    case roundabout
    /// Sharp turns, and no fixes for 10 of every 40 s.
    case city
    /// Standing still for 10 of every 30 s.
    case stopAndGo
    case parked
    /// 1.4 m/s, with a swinging motion.
    case walking
  }

  static let interval = 0.02

  let scenario: Scenario
  private(set) var truth: NavigationSolution
  private var random: RandomNumbers
  private var gyroscopeBias: SIMD3<Double>
  private var accelerometerBias: SIMD3<Double>
  private let noise: NavigationFilter.Noise
  private let phase: Double

  /// The measurements of the latest step.
  private(set) var gyroscope = SIMD3<Double>.zero
  private(set) var accelerometer = SIMD3<Double>.zero

  init(_ scenario: Scenario, seed: UInt64, noise: NavigationFilter.Noise) {
    self.scenario = scenario
    self.noise = noise
    random = RandomNumbers(seed: seed)
    phase = random.uniform() * 2 * .pi
    gyroscopeBias = random.vector(0.002)
    accelerometerBias = random.vector(0.05)
    let heading = random.uniform() * 2 * .pi
    let speed: Double
    switch scenario {
    case .highway: speed = 30
    case .roundabout: speed = 29
    case .city: speed = 12
    case .walking: speed = 1.4
    case .stopAndGo, .parked: speed = 0
    }
    truth = NavigationSolution(
      time: 0, position: GeodeticPosition(latitudeDegrees: 47, longitudeDegrees: 8, altitude: 400),
      velocity: SIMD3(speed * cos(heading), speed * sin(heading), 0),
      attitude: Quaternion(roll: 0, pitch: 0, yaw: heading), gyroscopeBias: .zero, accelerometerBias: .zero,
      covariance: ErrorCovariance(
        position: .zero, velocity: .zero, attitude: .zero, gyroscopeBias: .zero, accelerometerBias: .zero))
  }

  /// A solution with random errors that match its covariance.
  mutating func disturbedStart() -> NavigationSolution {
    var start = truth
    let (position, velocity, tilt, heading) = (1.0, 0.2, 0.01, 0.05)
    start.covariance = ErrorCovariance(
      position: SIMD3(repeating: position * position), velocity: SIMD3(repeating: velocity * velocity),
      attitude: SIMD3(tilt * tilt, tilt * tilt, heading * heading), gyroscopeBias: SIMD3(repeating: 0.002 * 0.002),
      accelerometerBias: SIMD3(repeating: 0.05 * 0.05))
    start.position = start.position.moved(by: random.vector(position))
    start.velocity += random.vector(velocity)
    let turn = random.vector(1)
    start.attitude = Quaternion(rotationVector: SIMD3(turn.x * tilt, turn.y * tilt, turn.z * heading)) * start.attitude
    return start
  }

  /// The present acceleration along the nose, and the rates.
  private var motion: (forward: Double, rates: SIMD3<Double>) {
    let t = truth.time + phase
    switch scenario {
    case .highway: return (0.3 * sin(0.2 * t), SIMD3(0.01 * sin(0.5 * t), 0.005 * cos(0.3 * t), 0.05 * sin(0.1 * t)))
    case .roundabout: return (0, SIMD3(0, 0, 0.28))
    case .city:
      return (1.5 * sin(0.6 * t), SIMD3(0.02 * sin(0.9 * t), 0.01 * cos(0.7 * t), 0.4 * sin(0.35 * t)))
    case .stopAndGo:
      let inCycle = truth.time - 30 * (truth.time / 30).rounded(.down)
      // Ten seconds of acceleration, ten of braking, ten of standing.
      let push = inCycle < 10 ? 1.0 : inCycle < 20 ? -1.0 : 0
      return (push, inCycle < 20 ? SIMD3(0, 0, 0.2 * sin(0.4 * t)) : .zero)
    case .parked: return (0, .zero)
    case .walking:
      return (0.5 * sin(6 * t), SIMD3(0.3 * sin(6 * t), 0.2 * cos(6 * t), 0.3 * sin(0.5 * t)))
    }
  }

  mutating func step() {
    let dt = SimulatedJourney.interval
    let (forward, rates) = motion
    let heading = truth.attitude.yaw
    let speed = (truth.velocity.x * truth.velocity.x + truth.velocity.y * truth.velocity.y).squareRoot()
    // The track follows the nose.
    var wanted = forward * SIMD3(cos(heading), sin(heading), 0)
    wanted += speed * rates.z * SIMD3(-sin(heading), cos(heading), 0)
    if scenario == .parked { wanted = -truth.velocity }
    let gravity = Earth.gravity(latitude: truth.position.latitude, altitude: truth.position.altitude)
    let force = truth.attitude.conjugate.rotate(wanted - SIMD3(0, 0, gravity) - 0.5 * truth.velocity * SIMD3(0, 0, 1))
    let earthRate = SIMD3(
      Earth.rotation * cos(truth.position.latitude), 0, -Earth.rotation * sin(truth.position.latitude))
    let rate = rates + truth.attitude.conjugate.rotate(earthRate)
    truth.propagate(gyroscope: rate, accelerometer: force, to: truth.time + dt, noise)

    gyroscopeBias += random.vector(noise.gyroscopeBiasWander * dt.squareRoot())
    accelerometerBias += random.vector(noise.accelerometerBiasWander * dt.squareRoot())
    gyroscope = rate + gyroscopeBias + random.vector(noise.rate / dt.squareRoot())
    accelerometer = force + accelerometerBias + random.vector(noise.acceleration / dt.squareRoot())
  }

  /// A fix of the present state, with these sigmas.
  mutating func fix(positionSigma: Double = 1.5, velocitySigma: Double = 0.1) -> GNSSMeasurement {
    GNSSMeasurement(
      time: truth.time, position: truth.position.moved(by: random.vector(positionSigma)),
      positionSigma: SIMD3(repeating: positionSigma), velocity: truth.velocity + random.vector(velocitySigma),
      velocitySigma: SIMD3(repeating: velocitySigma))
  }

  var hasFixes: Bool {
    guard scenario == .city else { return true }
    let inCycle = truth.time - 40 * (truth.time / 40).rounded(.down)
    return inCycle < 30
  }

  /// The squared errors over their estimated variances: position, velocity, attitude. Each has three degrees of
  /// freedom.
  func surprise(of estimate: NavigationSolution) -> SIMD3<Double> {
    func squared(_ error: SIMD3<Double>, _ covariance: Matrix3) -> Double {
      covariance.inverse.map { dot(error, $0 * error) } ?? .infinity
    }
    return SIMD3(
      squared(truth.position.offset(from: estimate.position), estimate.covariance.pp),
      squared(truth.velocity - estimate.velocity, estimate.covariance.vv),
      squared((truth.attitude * estimate.attitude.conjugate).rotationVector, estimate.covariance.tt))
  }
}

/// Reproducible random numbers.
struct RandomNumbers {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func uniform() -> Double {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return (Double(state >> 11) + 1) / 9_007_199_254_740_992
  }

  mutating func normal() -> Double { (-2 * log(uniform())).squareRoot() * cos(2 * .pi * uniform()) }

  mutating func vector(_ sigma: Double) -> SIMD3<Double> { SIMD3(normal(), normal(), normal()) * sigma }
}
