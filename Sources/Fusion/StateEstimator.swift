import Glibc
import MonotonicTime

/// Puts what the devices measure together into one state: the navigation filter, fed with times and reports of the hub's.
public struct StateEstimator: Sendable {
  /// The receiver's position and motion are not reported when they are older than this.
  private static var positionLifetimeSeconds: Double { 5 }
  private static var attitudeLifetimeSeconds: Double { 1 }
  /// What a receiver's speed over ground and climb are good for, m/s.
  private static var speedSigma: Double { 0.3 }
  private static var climbSigma: Double { 1 }
  /// Where the receiver says nothing of its errors, metres.
  private static var unknownSigma: Double { 10 }
  private static var unknownHeightSigma: Double { 5000 }

  private let start: MonotonicInstant
  private var filter: NavigationFilter
  private var state: FusedState
  private var newestSample: MonotonicInstant?
  /// Whether the receiver has ever told a height.
  private var hasHeight = false
  private var receiverPosition: Dated<FusedState.Position>?
  private var receiverMotion: Dated<FusedState.Motion>?

  public init(_ configuration: NavigationFilter.Configuration = .init(), at start: MonotonicInstant) {
    self.start = start
    filter = NavigationFilter(configuration)
    state = FusedState(at: start)
  }

  @inline(__always)
  private func seconds(_ instant: MonotonicInstant) -> Double { instant.seconds(since: start) }

  @inline(__always)
  private func instant(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: start.nanoseconds + Int64(seconds * 1e9))
  }

  /// Takes an inertial measurement in body axes.
  public mutating func update(
    gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, at: MonotonicInstant
  ) {
    if let newestSample, at <= newestSample { return }
    newestSample = at
    filter.update(gyroscope: gyroscope, accelerometer: accelerometer, time: seconds(at))
    guard gyroscope.isFinite, accelerometer.isFinite else { return }
    state.rates = Dated(gyroscope, at: at, source: .imu)
    state.acceleration = Dated(accelerometer, at: at, source: .imu)
  }

  /// Takes what a receiver reported.
  ///
  /// - Parameters:
  ///   - position, motion: `nil` where the receiver has none
  ///   - at: when it was valid
  public mutating func update(
    fix: FusedState.FixQuality, position: FusedState.Position?, motion: FusedState.Motion?, at: MonotonicInstant
  ) {
    state.fix = Dated(fix, at: at, source: .gps)
    if let motion { receiverMotion = Dated(motion, at: at, source: .gps) }
    guard let position else { return }
    receiverPosition = Dated(position, at: at, source: .gps)
    if position.altitudeHAEMetres != nil { hasHeight = true }
    let horizontal = position.horizontalSigmaMetres ?? StateEstimator.unknownSigma
    let vertical =
      position.altitudeHAEMetres == nil
      ? StateEstimator.unknownHeightSigma : position.verticalSigmaMetres ?? 2 * horizontal
    filter.update(
      GNSSMeasurement(
        time: seconds(at),
        position: GeodeticPosition(
          latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees,
          altitude: position.altitudeHAEMetres ?? filter.position?.altitude ?? 0),
        positionSigma: SIMD3(horizontal, horizontal, vertical), velocity: motion?.velocity,
        velocitySigma: SIMD3(
          StateEstimator.speedSigma, StateEstimator.speedSigma,
          motion?.climbMetresPerSecond == nil ? 3 * StateEstimator.climbSigma : StateEstimator.climbSigma)))
  }

  /// The state as of now: what is too old to be true is left out.
  public mutating func state(at now: MonotonicInstant) -> FusedState {
    state.at = now
    state.mode = mode(at: now)
    state.deadReckoningSince = filter.deadReckoningSince.map { instant($0) }
    reportPosition(at: now)
    reportAttitude(at: now)
    if let fixAt = state.fix?.at, now.seconds(since: fixAt) > StateEstimator.positionLifetimeSeconds { state.fix = nil }
    return state
  }

  // Mutating, although it mutates nothing: to lend itself out as a constant the estimator would be copied.
  private mutating func mode(at now: MonotonicInstant) -> FusedState.Mode {
    if let newestSample, now.seconds(since: newestSample) <= StateEstimator.attitudeLifetimeSeconds {
      switch filter.mode {
      case .fused: return .fused
      case .deadReckoning: return .deadReckoning
      case .none, .attitude, .gnss, .asleep: break
      }
    }
    if let at = receiverPosition?.at, now.seconds(since: at) <= StateEstimator.positionLifetimeSeconds { return .gnss }
    guard let newestSample, now.seconds(since: newestSample) <= StateEstimator.attitudeLifetimeSeconds else {
      return .none
    }
    return .attitude
  }

  private mutating func reportPosition(at now: MonotonicInstant) {
    switch state.mode {
    case .none, .attitude, .asleep:
      state.position = nil
      state.motion = nil
    case .gnss:
      state.position = receiverPosition
      state.motion = receiverMotion
    case .fused, .deadReckoning:
      guard let newestSample, let position = filter.position, let sigma = filter.positionSigma,
        let velocity = filter.velocity, let velocitySigma = filter.velocitySigma
      else { return }
      // The geoid is where the receiver last put it.
      let separation = receiverPosition.flatMap { last in
        last.value.altitudeHAEMetres.flatMap { hae in last.value.altitudeMSLMetres.map { hae - $0 } }
      }
      state.position = Dated(
        FusedState.Position(
          latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees,
          altitudeHAEMetres: hasHeight ? position.altitude : nil,
          altitudeMSLMetres: separation.map { position.altitude - $0 },
          horizontalSigmaMetres: sigma.horizontal,
          verticalSigmaMetres: hasHeight ? sigma.z : nil), at: newestSample, source: .both)
      state.motion = Dated(FusedState.Motion(velocity, sigma: velocitySigma), at: newestSample, source: .both)
    }
  }

  private mutating func reportAttitude(at now: MonotonicInstant) {
    guard let newestSample, now.seconds(since: newestSample) <= StateEstimator.attitudeLifetimeSeconds else {
      state.attitude = nil
      state.rates = nil
      state.acceleration = nil
      return
    }
    let attitude = FusedState.Attitude(
      quaternion: filter.attitude, inclinationSigmaRadians: filter.inclinationSigma,
      headingSigmaRadians: filter.headingSigma)
    let isNavigating = state.mode == .fused || state.mode == .deadReckoning
    state.attitude = Dated(attitude, at: newestSample, source: isNavigating ? .both : .imu)
  }
}

extension FusedState.Motion {
  /// From a velocity north, east, down, and its standard deviations, m/s.
  init(_ velocity: SIMD3<Double>, sigma: SIMD3<Double>) {
    let speed = (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot()
    let track = atan2(velocity.y, velocity.x) * 180 / .pi
    self.init(
      // Below a pace a second the course is noise.
      speedMetresPerSecond: speed, trackDegrees: speed < 0.3 ? nil : track < 0 ? track + 360 : track,
      climbMetresPerSecond: -velocity.z, horizontalSigmaMetresPerSecond: sigma.horizontal,
      verticalSigmaMetresPerSecond: sigma.z)
  }
}

extension SIMD3<Double> {
  /// Of standard deviations north, east, down: that along one horizontal axis, whichever it is.
  fileprivate var horizontal: Double { ((x * x + y * y) / 2).squareRoot() }
}
