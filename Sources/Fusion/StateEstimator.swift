import Glibc
import MonotonicTime

/// Puts what the devices measure together into one state: the navigation filter, fed with times and reports of the hub's.
public struct StateEstimator: Sendable {
  /// The receiver's position and motion are not reported when they are older than this, or than one and a half of its intervals.
  private static var positionLifetimeSeconds: Double { 5 }
  private static var longestPositionLifetimeSeconds: Double { 30 }
  /// Nor for longer than this once it says that it has none: a bridge is no loss of the position.
  private static var lostPositionSeconds: Double { 1.5 }
  private static var attitudeLifetimeSeconds: Double { 1 }
  /// Of what may come once in two seconds.
  private static var slowLifetimeSeconds: Double { 5 }
  /// What a receiver's speed over ground and climb are good for that says nothing of it, m/s.
  private static var speedSigma: Double { 0.3 }
  private static var climbSigma: Double { 1 }
  /// Where the receiver says nothing of its errors, metres.
  private static var unknownSigma: Double { 10 }
  private static var unknownHeightSigma: Double { 5000 }
  /// gpsd's number of it.
  private static var rtkFixed: Int { 3 }
  /// Magnetic fields ahead of the inertial samples; more than these wait nowhere.
  private static var longestQueue: Int { 8 }
  /// Before anything that is measured.
  private static var longAgo: MonotonicInstant { MonotonicInstant(nanoseconds: .min) }

  /// What seconds are counted from: the first measurement, so that the same measurements give the same numbers.
  private var origin: MonotonicInstant?
  private var filter: NavigationFilter
  private var state: FusedState
  private var newestSample: MonotonicInstant?
  /// Whether the receiver has ever told a height.
  private var hasHeight = false
  private var receiverPosition: Dated<FusedState.Position>?
  private var receiverMotion: Dated<FusedState.Motion>?
  private var receiverPace = ReceiverPace()
  private var imuSource = DeviceSet()
  /// Magnetic fields that no inertial sample has been paired with, oldest first.
  private var fields: [(field: SIMD3<Double>, at: MonotonicInstant)] = []
  private var height = BarometricHeight()

  public init(_ configuration: NavigationFilter.Configuration = .init(), devices: DeviceNames = .usual) {
    filter = NavigationFilter(configuration)
    state = FusedState(at: StateEstimator.longAgo, devices: devices)
    fields.reserveCapacity(StateEstimator.longestQueue)
  }

  /// How far east of true north the magnetic north lies, radians; `nil` while that is not known.
  public var magneticDeclination: Double? {
    get { filter.magneticDeclination }
    set { filter.magneticDeclination = newValue }
  }

  @inline(__always)
  private mutating func seconds(_ instant: MonotonicInstant) -> Double {
    if let origin { return instant.seconds(since: origin) }
    origin = instant
    return 0
  }

  @inline(__always)
  private func instant(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: (origin?.nanoseconds ?? 0) + Int64(seconds * 1e9))
  }

  /// Takes an inertial measurement in body axes.
  public mutating func update(
    gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, at: MonotonicInstant, from source: DeviceSet = .imu
  ) {
    if let newestSample, at <= newestSample { return }
    filter.update(
      gyroscope: gyroscope, accelerometer: accelerometer, magnetometer: takeField(by: at), time: seconds(at))
    if filter.inertialFault != nil { return }
    newestSample = at
    imuSource = source
    guard gyroscope.isFinite, accelerometer.isFinite else { return }
    state.rates = Dated(gyroscope, at: at, source: source)
    state.acceleration = Dated(accelerometer, at: at, source: source)
  }

  /// Why the inertial sensor's latest sample was not fused; `nil` where it was.
  public var inertialFault: InertialFault? { filter.inertialFault }
  /// Whether the pressure cannot be that of the air here, so that it is not fused.
  public var hasWrongPressure: Bool { height.isWrong }

  /// Another inertial sensor goes on from here.
  ///
  /// - Parameter interval: seconds between its samples
  public mutating func changeInertialSensor(interval: Double) { filter.changeInertialSensor(interval: interval) }

  /// The newest field that was there at some time; inertial samples come in bursts, so that fields wait for theirs.
  private mutating func takeField(by at: MonotonicInstant) -> SIMD3<Double>? {
    var found: SIMD3<Double>?
    while let first = fields.first, first.at <= at { found = fields.removeFirst().field }
    return found
  }

  /// Takes a magnetic field in body axes, microtesla, without what iron near by adds to it.
  public mutating func update(
    magneticField field: SIMD3<Double>, at: MonotonicInstant, from source: DeviceSet = .mag
  ) {
    guard field.isFinite, at > fields.last?.at ?? state.magneticField?.at ?? StateEstimator.longAgo else { return }
    state.magneticField = Dated(field, at: at, source: source)
    if fields.count == StateEstimator.longestQueue { fields.removeFirst() }
    fields.append((field, at))
  }

  /// Takes what a barometer measured.
  public mutating func update(air: FusedState.Air, at: MonotonicInstant, from source: DeviceSet = .baro) {
    guard air.pressurePascals.isFinite, at > state.air?.at ?? StateEstimator.longAgo else { return }
    // A spike is no pressure of the air.
    guard height.update(pressurePascals: air.pressurePascals, time: seconds(at)) else { return }
    state.air = Dated(air, at: at, source: source)
  }

  /// Takes what a supply monitor measured, which is told and not fused.
  public mutating func update(supply: FusedState.Supply, at: MonotonicInstant, from source: DeviceSet = .meter) {
    guard supply.watts.isFinite, at > state.supply?.at ?? StateEstimator.longAgo else { return }
    state.supply = Dated(supply, at: at, source: source)
  }

  /// Takes what a receiver reported.
  ///
  /// - Parameters:
  ///   - position, motion: `nil` where the receiver has none
  ///   - leverArm: to its antenna; `nil` for the configuration's
  ///   - at: when it was valid
  public mutating func update(
    fix: FusedState.FixQuality, position: FusedState.Position?, motion: FusedState.Motion?, at: MonotonicInstant,
    leverArm: SIMD3<Double>? = nil, from source: DeviceSet = .gps
  ) {
    state.fix = Dated(fix, at: at, source: source)
    receiverPace.take(at, hasPosition: position != nil)
    if let motion { receiverMotion = Dated(motion, at: at, source: source) }
    guard let position else { return }
    receiverPosition = Dated(position, at: at, source: source)
    if position.altitudeHAEMetres != nil { hasHeight = true }
    let horizontal = position.horizontalSigmaMetres ?? StateEstimator.unknownSigma
    let vertical =
      position.altitudeHAEMetres == nil
      ? StateEstimator.unknownHeightSigma : position.verticalSigmaMetres ?? 2 * horizontal
    if let altitude = position.altitudeHAEMetres {
      // The barometer is on the board, and not up at the antenna.
      let arm = filter.attitude.rotate(leverArm ?? filter.configuration.leverArm)
      height.update(altitude: altitude + arm.z, sigma: vertical, time: seconds(at))
    }
    var speedSigma =
      motion?.horizontalSigmaMetresPerSecond ?? fix.reception.doubted(velocitySigma: StateEstimator.speedSigma)
    if !speedSigma.isFinite { speedSigma = StateEstimator.speedSigma }
    let climbSigma =
      motion?.climbMetresPerSecond == nil
      ? 3 * StateEstimator.climbSigma : motion?.verticalSigmaMetresPerSecond ?? StateEstimator.climbSigma
    var measurement = GNSSMeasurement(
      time: seconds(at),
      position: GeodeticPosition(
        latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees,
        altitude: position.altitudeHAEMetres ?? filter.position?.altitude ?? 0),
      positionSigma: SIMD3(horizontal, horizontal, vertical), velocity: motion?.velocity,
      velocitySigma: SIMD3(speedSigma, speedSigma, climbSigma), leverArm: leverArm)
    measurement.trust = fix.reception.isSpoofed ? .doubted : fix.status == StateEstimator.rtkFixed ? .vouched : .stated
    filter.update(measurement)
  }

  /// Whether the last position of the receiver repeated the one before to the last bit, while the inertial sensors moved.
  public var isRepetition: Bool { filter.isRepetition }

  /// The state as of now: what is too old to be true is left out.
  public mutating func state(at now: MonotonicInstant) -> FusedState {
    state.at = now
    state.mode = mode(at: now)
    state.deadReckoningSince = filter.deadReckoningSince.map { instant($0) }
    state.refusal = filter.contradiction.map { FusedState.Refusal(since: instant($0.since), metres: $0.metres) }
    reportPosition(at: now)
    reportHeight(at: now)
    reportAttitude(at: now)
    if let at = state.magneticField?.at, now.seconds(since: at) > StateEstimator.slowLifetimeSeconds {
      state.magneticField = nil
    }
    if let at = state.air?.at, now.seconds(since: at) > StateEstimator.slowLifetimeSeconds { state.air = nil }
    if let at = state.supply?.at, now.seconds(since: at) > StateEstimator.slowLifetimeSeconds { state.supply = nil }
    if let fixAt = state.fix?.at, now.seconds(since: fixAt) > positionLifetime { state.fix = nil }
    return state
  }

  /// Seconds.
  private var positionLifetime: Double {
    min(
      max(StateEstimator.positionLifetimeSeconds, 1.5 * receiverPace.interval),
      StateEstimator.longestPositionLifetimeSeconds)
  }

  /// Whether the receiver's last position is one of now.
  private mutating func isReceiverPositionPresent(at now: MonotonicInstant) -> Bool {
    guard let at = receiverPosition?.at else { return false }
    let age = now.seconds(since: at)
    if age > positionLifetime { return false }
    return receiverPace.epochsWithoutPosition < 2 || age <= StateEstimator.lostPositionSeconds
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
    if isReceiverPositionPresent(at: now) { return .gnss }
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
          verticalSigmaMetres: hasHeight ? sigma.z : nil), at: newestSample, source: navigators)
      state.motion = Dated(FusedState.Motion(velocity, sigma: velocitySigma), at: newestSample, source: navigators)
    }
  }

  /// Whose one solution it is.
  private var navigators: DeviceSet { (receiverPosition?.source ?? []).union(imuSource) }

  /// A barometer knows better than both others, once it has been told where it is.
  private mutating func reportHeight(at now: MonotonicInstant) {
    guard var position = state.position, let air = state.air, let altitude = height.altitude(at: seconds(now)) else {
      return
    }
    let geoid = position.value.altitudeHAEMetres.flatMap { hae in position.value.altitudeMSLMetres.map { hae - $0 } }
    position.value.altitudeHAEMetres = altitude.metres
    position.value.altitudeMSLMetres = geoid.map { altitude.metres - $0 }
    position.value.verticalSigmaMetres = altitude.sigma
    position.source.formUnion(air.source)
    state.position = position
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
    let compass = attitude.headingSigmaRadians == nil ? nil : state.magneticField?.source
    state.attitude = Dated(
      attitude, at: newestSample, source: (isNavigating ? navigators : imuSource).union(compass ?? []))
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
