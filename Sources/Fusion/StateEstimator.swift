import MonotonicTime

/// Puts what the devices measure together into one state, in the order of the measurements' own times.
public struct StateEstimator<Filter: AttitudeFilter>: Sendable {
  /// A position older than this is no longer reported: without a filter that carries it on, it only misleads.
  private static var positionLifetime: Duration { .seconds(5) }
  private static var attitudeLifetime: Duration { .seconds(1) }
  /// Below this, in m/s, the course over ground is noise.
  private static var slowestCourse: Double { 1 }

  public private(set) var state: FusedState
  private var filter: Filter
  private var lastSample: MonotonicInstant?

  public init(filter: Filter, at start: MonotonicInstant) {
    self.filter = filter
    state = FusedState(at: start)
  }

  /// The time of the newest inertial measurement.
  public var newestSample: MonotonicInstant? { lastSample }

  /// Takes an inertial measurement in body axes.
  public mutating func update(
    gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, at: MonotonicInstant, source: String
  ) {
    if let lastSample {
      guard at > lastSample else { return }
      filter.update(gyroscope: gyroscope, accelerometer: accelerometer, seconds: (at - lastSample).inSeconds)
    }
    lastSample = at
    let attitude = FusedState.Attitude(
      quaternion: filter.attitude, inclinationSigmaRadians: filter.inclinationSigma,
      headingSigmaRadians: filter.headingSigma)
    state.attitude = Dated(attitude, at: at, source: source)
    state.rates = Dated(gyroscope, at: at, source: source)
    state.acceleration = Dated(accelerometer, at: at, source: source)
  }

  /// Takes what a receiver reported.
  ///
  /// - Parameters:
  ///   - position, motion: `nil` where the receiver has none
  public mutating func update(
    fix: FusedState.FixQuality, position: FusedState.Position?, motion: FusedState.Motion?, at: MonotonicInstant,
    source: String
  ) {
    state.fix = Dated(fix, at: at, source: source)
    if let position { state.position = Dated(position, at: at, source: source) }
    guard let motion else { return }
    state.motion = Dated(motion, at: at, source: source)
    if let track = motion.trackDegrees, motion.speedMetresPerSecond > StateEstimator.slowestCourse {
      // Half a metre per second of velocity noise, seen from the speed.
      filter.update(course: track * .pi / 180, sigma: min(0.5 / motion.speedMetresPerSecond, 1))
    }
  }

  /// The state as of now: what is too old to be true is left out.
  public mutating func state(at now: MonotonicInstant) -> FusedState {
    state.at = now
    if let age = state.age(of: state.position), age > StateEstimator.positionLifetime { state.position = nil }
    if let age = state.age(of: state.motion), age > StateEstimator.positionLifetime { state.motion = nil }
    if let age = state.age(of: state.fix), age > StateEstimator.positionLifetime { state.fix = nil }
    if let age = state.age(of: state.attitude), age > StateEstimator.attitudeLifetime {
      state.attitude = nil
      state.rates = nil
      state.acceleration = nil
    }
    return state
  }
}
