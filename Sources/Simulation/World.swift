import Fusion
import Glibc
import MonotonicTime

/// A vehicle that drives a figure of eight and stops once a lap; everything about it is known exactly, at any time.
public struct World: Sendable {
  /// Where the figure's centre lies.
  public var latitudeDegrees = 52.516_3
  public var longitudeDegrees = 13.377_7
  public var altitudeHAEMetres = 78.0
  /// Half the figure's width, to the north, and a quarter of its height, to the east.
  public var sizeMetres = 100.0
  public var drivingSeconds = 60.0
  public var standingSeconds = 10.0
  /// The earth's field as it is there: north, east, down, microtesla.
  public var magneticField = SIMD3(18.72, 1.55, 45.9)
  /// How far mean sea level lies above the ellipsoid.
  public var geoidSeparationMetres = 39.6
  /// By how much the weather's pressure swings about that of the standard atmosphere, Pa, and in what time it does so once.
  public var weatherPascals = 120.0
  public var weatherPeriodSeconds = 6 * 3600.0
  public var temperatureCelsius = 18.0
  public var humidityPercent = 45.0
  /// Of the noise that chips have by their data sheets; 0 for none.
  public var noiseScale = 1.0
  /// In place of the vehicle.
  public var turntable: Turntable?
  /// When the first lap began.
  public var start: MonotonicInstant
  /// Seconds after that in which the vehicle stands without a stir, in their order; then it goes on as if they had not been.
  public var parked: [Range<Double>] = []
  /// Whatever else it does, it is carried away.
  public var drift: Drift?

  public init(start: MonotonicInstant) { self.start = start }

  /// A table on which the board lies askew, and which turns about the vertical.
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

  /// What carries the vehicle away: a current, when the anchor does not hold any more.
  public struct Drift: Sendable {
    /// Seconds after the start.
    public var since: Double
    /// North, east.
    public var metresPerSecond: SIMD2<Double>

    public init(since: Double, metresPerSecond: SIMD2<Double>) {
      self.since = since
      self.metresPerSecond = metresPerSecond
    }
  }

  /// The vehicle at one instant. Vectors in north, east, down about the figure's centre.
  public struct Truth: Sendable {
    public var positionMetres: SIMD3<Double>
    public var velocityMetresPerSecond: SIMD3<Double>
    public var accelerationMetresPerSecondSquared: SIMD3<Double>
    /// Body to north, east, down.
    public var attitude: Quaternion
    /// Body axes, rad/s.
    public var rates: SIMD3<Double>
    public var latitudeDegrees: Double
    public var longitudeDegrees: Double
    public var altitudeHAEMetres: Double
    /// Body axes, microtesla.
    public var magneticField: SIMD3<Double>
    /// Of the air, Pa.
    public var pressurePascals: Double
    /// Of the chips' noise.
    public var noiseScale: Double

    /// What an accelerometer measures, body axes, m/s².
    public var specificForce: SIMD3<Double> {
      attitude.conjugate.rotate(accelerationMetresPerSecondSquared - SIMD3(0, 0, 9.80665))
    }
  }

  public func truth(at instant: MonotonicInstant) -> Truth {
    let elapsed = (instant - start).inSeconds
    let (time, isParked) = drivingTime(at: elapsed)
    let step = 1e-4
    var motion = motion(at: time)
    let attitude = attitude(at: time)
    // The rates by difference: exact enough, and right for whatever attitude() does.
    let turn = attitude.conjugate * self.attitude(at: time + step)
    if isParked { (motion.velocity, motion.acceleration) = (.zero, .zero) }
    if let drift, elapsed > drift.since {
      let velocity = SIMD3(drift.metresPerSecond, 0)
      motion.position += velocity * (elapsed - drift.since)
      motion.velocity += velocity
    }
    let radius = 6_378_137.0
    let latitude = latitudeDegrees + motion.position.x / radius * 180 / .pi
    return Truth(
      positionMetres: motion.position, velocityMetresPerSecond: motion.velocity,
      accelerationMetresPerSecondSquared: motion.acceleration, attitude: attitude,
      rates: isParked ? .zero : turn.rotationVector / step, latitudeDegrees: latitude,
      longitudeDegrees: longitudeDegrees
        + motion.position.y / (radius * cos(latitudeDegrees * .pi / 180)) * 180 / .pi,
      altitudeHAEMetres: altitudeHAEMetres, magneticField: attitude.conjugate.rotate(magneticField),
      pressurePascals: pressure(at: elapsed), noiseScale: noiseScale)
  }

  /// Until when it stands without a stir that does so at an instant.
  func parkedUntil(at instant: MonotonicInstant) -> MonotonicInstant? {
    let elapsed = (instant - start).inSeconds
    return parked.first { $0.contains(elapsed) }.map { start + .nanoseconds(Int64($0.upperBound * 1e9)) }
  }

  private func drivingTime(at elapsed: Double) -> (time: Double, isParked: Bool) {
    var stood = 0.0
    for stop in parked where elapsed >= stop.lowerBound {
      if stop.contains(elapsed) { return (stop.lowerBound - stood, true) }
      stood += stop.upperBound - stop.lowerBound
    }
    return (elapsed - stood, false)
  }

  /// The standard atmosphere's at that height, and the weather's.
  private func pressure(at time: Double) -> Double {
    let height = altitudeHAEMetres - geoidSeparationMetres
    return 101_325 * pow(1 - 2.25577e-5 * height, 5.25588)
      + weatherPascals * sin(2 * .pi * time / weatherPeriodSeconds)
  }

  /// How far along the lap, as an angle, with its first and second derivative in time.
  private func progress(at time: Double) -> (angle: Double, rate: Double, acceleration: Double) {
    let lap = drivingSeconds + standingSeconds
    let laps = (time / lap).rounded(.down)
    let inLap = time - laps * lap
    guard inLap < drivingSeconds else { return (2 * .pi * (laps + 1), 0, 0) }
    // Sets off and comes to rest smoothly: the rate is a raised cosine.
    let phase = 2 * .pi * inLap / drivingSeconds
    return (
      2 * .pi * laps + phase - sin(phase), 2 * .pi / drivingSeconds * (1 - cos(phase)),
      4 * .pi * .pi / (drivingSeconds * drivingSeconds) * sin(phase)
    )
  }

  private func motion(at time: Double) -> (
    position: SIMD3<Double>, velocity: SIMD3<Double>, acceleration: SIMD3<Double>
  ) {
    guard turntable == nil else { return (.zero, .zero, .zero) }
    let (angle, rate, acceleration) = progress(at: time)
    let size = sizeMetres
    let position = SIMD3(size * sin(angle), size / 2 * sin(2 * angle), 0)
    let tangent = SIMD3(size * cos(angle), size * cos(2 * angle), 0)
    let bend = SIMD3(-size * sin(angle), -2 * size * sin(2 * angle), 0)
    return (position, tangent * rate, bend * (rate * rate) + tangent * acceleration)
  }

  private func attitude(at time: Double) -> Quaternion {
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
