import Fusion
import Glibc
import MonotonicTime

/// A vehicle that drives a figure of eight and stops once a lap. The state of the vehicle is known exactly at any time.
public struct World: Sendable {
  /// The centre of the figure.
  public var latitudeDegrees = 52.516_3
  public var longitudeDegrees = 13.377_7
  public var altitudeHAEMetres = 78.0
  /// Half the extent of the figure from north to south. Its extent from east to west has the same value.
  public var sizeMetres = 100.0
  public var drivingSeconds = 60.0
  public var standingSeconds = 10.0
  /// The local magnetic field of the earth: north, east, down, in microtesla.
  public var magneticField = SIMD3(18.72, 1.55, 45.9)
  /// The height of mean sea level above the ellipsoid.
  public var geoidSeparationMetres = 39.6
  /// The amplitude in pascals and the period of the weather's deviation from standard atmospheric pressure.
  public var weatherPascals = 120.0
  public var weatherPeriodSeconds = 6 * 3600.0
  public var temperatureCelsius = 18.0
  public var humidityPercent = 45.0
  /// The factor from the noise in the chips' data sheets to their simulated noise; 0 for no noise.
  public var noiseScale = 1.0
  /// A turntable that replaces the vehicle, if set.
  public var turntable: Turntable?
  /// A motion for calibrating sensors that replaces the motion of the vehicle, if set.
  public var practice: Practice?
  /// The motions of the board for calibrations while the simulation runs, if set.
  public var rehearsal: Rehearsal?
  /// When the first lap began.
  public var start: MonotonicInstant
  /// Periods during which the vehicle is parked and does not move, in seconds since the start, in order. Afterwards the
  /// vehicle continues as if the periods had not happened.
  public var parked: [Range<Double>] = []
  /// A drift in addition to all other motion; `nil` for none.
  public var drift: Drift?

  public init(start: MonotonicInstant) { self.start = start }

  /// A turntable that rotates about the vertical, with the board mounted at an angle.
  public struct Turntable: Sendable {
    public var rollRadians: Double
    public var pitchRadians: Double
    public var yawRadians: Double
    public var radiansPerSecond: Double

    public init(rollRadians: Double, pitchRadians: Double, yawRadians: Double, radiansPerSecond: Double = 0) {
      self.rollRadians = rollRadians
      self.pitchRadians = pitchRadians
      self.yawRadians = yawRadians
      self.radiansPerSecond = radiansPerSecond
    }
  }

  /// A drift of the vehicle, for example of a boat in a current when its anchor drags.
  public struct Drift: Sendable {
    /// The start of the drift, in seconds after the start of the world.
    public var since: Double
    /// The velocity of the drift: north, east.
    public var metresPerSecond: SIMD2<Double>

    public init(since: Double, metresPerSecond: SIMD2<Double>) {
      self.since = since
      self.metresPerSecond = metresPerSecond
    }
  }

  /// The state of the vehicle at one instant. Vectors are in north, east, down, relative to the centre of the figure.
  public struct Truth: Sendable {
    public var positionMetres: SIMD3<Double>
    public var velocityMetresPerSecond: SIMD3<Double>
    public var accelerationMetresPerSecondSquared: SIMD3<Double>
    /// The rotation from body axes to north, east, down.
    public var attitude: Quaternion
    /// The angular rates in body axes, rad/s.
    public var rates: SIMD3<Double>
    public var latitudeDegrees: Double
    public var longitudeDegrees: Double
    public var altitudeHAEMetres: Double
    /// The magnetic field in body axes, microtesla.
    public var magneticField: SIMD3<Double>
    public var pressurePascals: Double
    /// A factor for the chips' noise.
    public var noiseScale: Double

    /// The specific force that an accelerometer measures, in body axes, m/s².
    public var specificForce: SIMD3<Double> {
      attitude.conjugate.rotate(accelerationMetresPerSecondSquared - SIMD3(0, 0, 9.80665))
    }
  }

  public func truth(at instant: MonotonicInstant) -> Truth {
    let elapsed = (instant - start).inSeconds
    let (driven, rehearsed) = drivingTime(at: elapsed, rehearsal?.intervals(until: instant) ?? [])
    let (time, isParked) = driven
    let step = 1e-4
    var motion = motion(at: time)
    func attitude(_ later: Double) -> Quaternion {
      rehearsed.map { $0.practice.attitude(at: $0.seconds + later) } ?? self.attitude(at: time + later)
    }
    let present = attitude(0)
    // The rates come from the difference between two attitudes. This is exact enough, and stays correct however
    // `attitude` is computed.
    let turn = present.conjugate * attitude(step)
    if isParked || rehearsed != nil { (motion.velocity, motion.acceleration) = (.zero, .zero) }
    if let drift, elapsed > drift.since {
      let velocity = SIMD3(drift.metresPerSecond, 0)
      motion.position += velocity * (elapsed - drift.since)
      motion.velocity += velocity
    }
    let radius = 6_378_137.0
    let latitude = latitudeDegrees + motion.position.x / radius * 180 / .pi
    return Truth(
      positionMetres: motion.position, velocityMetresPerSecond: motion.velocity,
      accelerationMetresPerSecondSquared: motion.acceleration, attitude: present,
      rates: isParked ? .zero : turn.rotationVector / step, latitudeDegrees: latitude,
      longitudeDegrees: longitudeDegrees
        + motion.position.y / (radius * cos(latitudeDegrees * .pi / 180)) * 180 / .pi,
      altitudeHAEMetres: altitudeHAEMetres, magneticField: present.conjugate.rotate(magneticField),
      pressurePascals: pressure(at: elapsed), noiseScale: noiseScale)
  }

  /// The end of the parked period that contains an instant; `nil` if the vehicle is not parked.
  func parkedUntil(at instant: MonotonicInstant) -> MonotonicInstant? {
    let elapsed = (instant - start).inSeconds
    return parked.first { $0.contains(elapsed) }.map { start + .nanoseconds(Int64($0.upperBound * 1e9)) }
  }

  private typealias Rehearsed = (practice: Practice, seconds: Double)

  /// How long the vehicle has driven, and the motion of the board that replaces driving.
  private func drivingTime(
    at elapsed: Double, _ rehearsals: [Rehearsal.Interval]
  ) -> (driven: (time: Double, isParked: Bool), rehearsed: Rehearsed?) {
    var stood = 0.0
    for interval in rehearsals {
      let since = (interval.since - start).inSeconds
      let until = interval.until.map { ($0 - start).inSeconds } ?? .infinity
      guard elapsed >= until else {
        return (drivingTime(at: since - stood), (interval.practice, elapsed - since))
      }
      stood += until - since
    }
    return (drivingTime(at: elapsed - stood), nil)
  }

  private func drivingTime(at elapsed: Double) -> (time: Double, isParked: Bool) {
    var stood = 0.0
    for stop in parked where elapsed >= stop.lowerBound {
      if stop.contains(elapsed) { return (stop.lowerBound - stood, true) }
      stood += stop.upperBound - stop.lowerBound
    }
    return (elapsed - stood, false)
  }

  /// The pressure of the standard atmosphere at the height of the figure, plus the weather.
  private func pressure(at time: Double) -> Double {
    let height = altitudeHAEMetres - geoidSeparationMetres
    return 101_325 * pow(1 - 2.25577e-5 * height, 5.25588)
      + weatherPascals * sin(2 * .pi * time / weatherPeriodSeconds)
  }

  /// The position in the lap as an angle, with its first and second derivative in time.
  private func progress(at time: Double) -> (angle: Double, rate: Double, acceleration: Double) {
    let lap = drivingSeconds + standingSeconds
    let laps = (time / lap).rounded(.down)
    let inLap = time - laps * lap
    guard inLap < drivingSeconds else { return (2 * .pi * (laps + 1), 0, 0) }
    // The rate is a raised cosine, so that the vehicle starts and stops smoothly.
    let phase = 2 * .pi * inLap / drivingSeconds
    return (
      2 * .pi * laps + phase - sin(phase), 2 * .pi / drivingSeconds * (1 - cos(phase)),
      4 * .pi * .pi / (drivingSeconds * drivingSeconds) * sin(phase)
    )
  }

  private func motion(at time: Double) -> (
    position: SIMD3<Double>, velocity: SIMD3<Double>, acceleration: SIMD3<Double>
  ) {
    guard turntable == nil, practice == nil else { return (.zero, .zero, .zero) }
    let (angle, rate, acceleration) = progress(at: time)
    let size = sizeMetres
    let position = SIMD3(size * sin(angle), size / 2 * sin(2 * angle), 0)
    let tangent = SIMD3(size * cos(angle), size * cos(2 * angle), 0)
    let bend = SIMD3(-size * sin(angle), -2 * size * sin(2 * angle), 0)
    return (position, tangent * rate, bend * (rate * rate) + tangent * acceleration)
  }

  private func attitude(at time: Double) -> Quaternion {
    if let practice { return practice.attitude(at: time) }
    if let turntable {
      return Quaternion(
        roll: turntable.rollRadians, pitch: turntable.pitchRadians,
        yaw: turntable.yawRadians + turntable.radiansPerSecond * time)
    }
    let (angle, _, _) = progress(at: time)
    let heading = atan2(cos(2 * angle), cos(angle))
    return Quaternion(
      roll: 0.05 * sin(2 * .pi * time / 11), pitch: 0.03 * sin(2 * .pi * time / 17), yaw: heading)
  }
}

/// Reproducible noise: the same seed produces the same values.
struct Noise: Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  /// A uniformly distributed value, above 0 and at most 1.
  mutating func uniform() -> Double {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return (Double(state >> 11) + 1) / 9_007_199_254_740_992
  }

  /// A normally distributed value with mean 0 and standard deviation 1 (Box and Muller).
  mutating func normal() -> Double { (-2 * log(uniform())).squareRoot() * cos(2 * .pi * uniform()) }

  mutating func vector(_ sigma: Double) -> SIMD3<Double> { SIMD3(normal(), normal(), normal()) * sigma }
}
