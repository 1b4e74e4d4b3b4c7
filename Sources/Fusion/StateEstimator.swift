import Glibc
import MonotonicTime

/// Combines the measurements of all devices into one state. It converts the hub's times and reports into the
/// measurements of the navigation filter.
public struct StateEstimator: Sendable {
  /// The receiver's position and motion are reported up to this age, in seconds. Those of a slow receiver are reported
  /// for one and a half of its intervals instead.
  private static var positionLifetimeSeconds: Double { 5 }
  /// The highest age limit of the position and motion of a slow receiver, in seconds.
  private static var longestPositionLifetimeSeconds: Double { 30 }
  /// The age limit, in seconds, once the receiver reports that it has no position. A single epoch without a position,
  /// as under a bridge, does not count.
  private static var lostPositionSeconds: Double { 1.5 }
  private static var attitudeLifetimeSeconds: Double { 1 }
  /// The age limit, in seconds, of the magnetic field, the air and the supply, which may be measured only every two
  /// seconds.
  private static var slowLifetimeSeconds: Double { 5 }
  /// The sigma of the speed over ground in m/s, if the receiver reports none.
  private static var speedSigma: Double { 0.3 }
  /// The sigma of the climb in m/s, if the receiver reports none.
  private static var climbSigma: Double { 1 }
  /// The sigma of the horizontal position in metres, if the receiver reports none.
  private static var unknownSigma: Double { 10 }
  /// The sigma of the height in metres, if the receiver reports no height.
  private static var unknownHeightSigma: Double { 5000 }
  /// gpsd's number for the status RTK fixed.
  private static var rtkFixed: Int { 3 }
  /// The maximum number of magnetic fields that wait for their inertial samples. It is enough for 1000 fields a second
  /// if inertial samples arrive in two bursts a second.
  private static var longestQueue: Int { 512 }
  /// A time before any measurement.
  private static var longAgo: MonotonicInstant { MonotonicInstant(nanoseconds: .min) }

  /// The origin of times in seconds: the first measurement, so that the same measurements produce the same numbers.
  private var origin: MonotonicInstant?
  private var filter: NavigationFilter
  private var state: FusedState
  private var newestSample: MonotonicInstant?
  /// Whether the receiver has ever reported a height.
  private var hasHeight = false
  private var receiverPosition: Dated<FusedState.Position>?
  private var receiverMotion: Dated<FusedState.Motion>?
  private var receiverRate = ReceiverRate()
  private var imuSource = DeviceSet()
  /// Magnetic fields that are not yet paired with an inertial sample, oldest first.
  private var fields: [(field: SIMD3<Double>, at: MonotonicInstant)] = []
  private var height = BarometricHeight()

  public init(_ configuration: NavigationFilter.Configuration = .init(), devices: DeviceNames = .usual) {
    filter = NavigationFilter(configuration)
    state = FusedState(at: StateEstimator.longAgo, devices: devices)
    fields.reserveCapacity(StateEstimator.longestQueue)
  }

  /// The angle from true to magnetic north, positive to the east, in radians; `nil` while unknown.
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
    // The origin may be centuries away, if it comes from a damaged recording.
    let nanoseconds = Int64(max(-9e18, min(9e18, seconds * 1e9)))
    return (origin ?? MonotonicInstant(nanoseconds: 0)).advanced(by: .nanoseconds(nanoseconds))
  }

  /// Fuses an inertial measurement in body axes: the angular rate in rad/s, and the specific force in m/s².
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

  /// Why the latest sample of the inertial sensor was not fused; `nil` if it was.
  public var inertialFault: InertialFault? { filter.inertialFault }
  /// Whether the pressure is not fused because it cannot be that of the local air.
  public var hasWrongPressure: Bool { height.isWrong }
  /// Whether the headings that receivers state are not fused any more because they have contradicted the fixes.
  public var hasWrongHeading: Bool { filter.isHeadingDoubted }

  /// Continues with another inertial sensor.
  ///
  /// - Parameter interval: the time between its samples, seconds
  public mutating func changeInertialSensor(interval: Double) { filter.changeInertialSensor(interval: interval) }

  /// The newest field measured up to a time. Inertial samples come in bursts, so fields wait for the samples of their
  /// time.
  private mutating func takeField(by at: MonotonicInstant) -> SIMD3<Double>? {
    let count = fields.firstIndex { $0.at > at } ?? fields.count
    guard count > 0 else { return nil }
    let found = fields[count - 1].field
    fields.removeFirst(count)
    return found
  }

  /// Fuses a magnetic field in body axes in microtesla, corrected for nearby iron.
  public mutating func update(
    magneticField field: SIMD3<Double>, at: MonotonicInstant, from source: DeviceSet = .mag
  ) {
    guard field.isFinite, at > fields.last?.at ?? state.magneticField?.at ?? StateEstimator.longAgo else { return }
    state.magneticField = Dated(field, at: at, source: source)
    if fields.count == StateEstimator.longestQueue { fields.removeFirst() }
    fields.append((field, at))
  }

  /// Fuses a measurement of a barometer.
  public mutating func update(air: FusedState.Air, at: MonotonicInstant, from source: DeviceSet = .baro) {
    guard air.pressurePascals.isFinite, at > state.air?.at ?? StateEstimator.longAgo else { return }
    // A spike is not the pressure of the air.
    guard height.update(pressurePascals: air.pressurePascals, time: seconds(at)) else { return }
    state.air = Dated(air, at: at, source: source)
  }

  /// Stores a measurement of a supply monitor. The state reports it; it is not fused.
  public mutating func update(supply: FusedState.Supply, at: MonotonicInstant, from source: DeviceSet = .meter) {
    guard supply.watts.isFinite, at > state.supply?.at ?? StateEstimator.longAgo else { return }
    state.supply = Dated(supply, at: at, source: source)
  }

  /// Fuses a report of a receiver.
  ///
  /// - Parameters:
  ///   - position: `nil` if the receiver has none
  ///   - motion: `nil` if the receiver has none
  ///   - leverArm: the position of its antenna relative to the IMU: forward, right, down, in metres; `nil` for the
  ///     configured one
  ///   - heading: the heading of the body, from two antennas
  ///   - at: the time of validity
  public mutating func update(
    fix: FusedState.FixQuality, position: FusedState.Position?, motion: FusedState.Motion?, at: MonotonicInstant,
    leverArm: SIMD3<Double>? = nil, heading: StatedHeading? = nil, from source: DeviceSet = .gps
  ) {
    state.fix = Dated(fix, at: at, source: source)
    receiverRate.take(at, hasPosition: position != nil)
    if let motion { receiverMotion = Dated(motion, at: at, source: source) }
    guard let position else { return }
    receiverPosition = Dated(position, at: at, source: source)
    if position.altitudeHAEMetres != nil { hasHeight = true }
    let horizontal = position.horizontalSigmaMetres ?? StateEstimator.unknownSigma
    let vertical =
      position.altitudeHAEMetres == nil
      ? StateEstimator.unknownHeightSigma : position.verticalSigmaMetres ?? 2 * horizontal
    if let altitude = position.altitudeHAEMetres {
      // The barometer is on the board and not at the antenna.
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
    measurement.heading = heading
    filter.update(measurement)
  }

  /// Whether the receiver's last position repeated the previous one bit for bit while the inertial sensors moved.
  public var isRepetition: Bool { filter.isRepetition }

  /// The state at a time. Parts that are too old are left out.
  public mutating func state(at now: MonotonicInstant) -> FusedState {
    state.at = now
    state.mode = mode(at: now)
    // The filter stays in its mode when the inertial samples end, so its own mode is not used here.
    let isNavigating = state.mode == .fused || state.mode == .deadReckoning
    state.deadReckoningSince = state.mode == .deadReckoning ? filter.deadReckoningSince.map { instant($0) } : nil
    state.refusal =
      isNavigating
      ? filter.contradiction.map { FusedState.Refusal(since: instant($0.since), metres: $0.metres) } : nil
    state.disagreementMetres = isNavigating ? filter.disagreement : nil
    state.reckoningCheck = filter.reckoningCheck.map {
      FusedState.ReckoningCheck(at: instant($0.time), ratio: $0.ratio)
    }
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

  /// The lifetime of the position, seconds.
  private var positionLifetime: Double {
    min(
      max(StateEstimator.positionLifetimeSeconds, 1.5 * receiverRate.interval),
      StateEstimator.longestPositionLifetimeSeconds)
  }

  /// The age limit of the receiver's last position, seconds.
  private var positionAgeLimit: Double {
    receiverRate.epochsWithoutPosition < 2 ? positionLifetime : StateEstimator.lostPositionSeconds
  }

  /// The last instant at which the position or the attitude is valid if no further measurement comes; `nil` without
  /// either.
  public var validUntil: MonotonicInstant? {
    let position = receiverPosition.map { $0.at + .nanoseconds(Int64(positionAgeLimit * 1e9)) }
    let attitude = newestSample.map { $0 + .nanoseconds(Int64(StateEstimator.attitudeLifetimeSeconds * 1e9)) }
    return [position, attitude].compactMap { $0 }.max()
  }

  /// Whether the receiver's last position is still valid.
  private mutating func isReceiverPositionPresent(at now: MonotonicInstant) -> Bool {
    guard let at = receiverPosition?.at else { return false }
    return now.seconds(since: at) <= positionAgeLimit
  }

  /// The mode of the state at a time, if no further measurement comes.
  ///
  /// Mutating, although it changes nothing: a non-mutating method would copy the estimator.
  public mutating func mode(at now: MonotonicInstant) -> FusedState.Mode {
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
      state.motion = receiverMotion.flatMap { now.seconds(since: $0.at) <= positionLifetime ? $0 : nil }
    case .fused, .deadReckoning:
      guard let newestSample, let position = filter.position, let sigma = filter.positionSigma,
        let velocity = filter.velocity, let velocitySigma = filter.velocitySigma
      else { return }
      // The geoid separation comes from the receiver's last report.
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

  /// The devices that contribute to the common solution.
  private var navigators: DeviceSet { (receiverPosition?.source ?? []).union(imuSource) }

  /// Replaces the height by the barometer's, if it is the more certain one. It usually is once it has been compared with
  /// the receiver's for a while, but not with a receiver that knows its height to centimetres.
  private mutating func reportHeight(at now: MonotonicInstant) {
    guard var position = state.position, let air = state.air, let altitude = height.altitude(at: seconds(now)),
      altitude.sigma < position.value.verticalSigmaMetres ?? .infinity
    else { return }
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
      headingSigmaRadians: filter.headingSigma, north: filter.north)
    let isNavigating = state.mode == .fused || state.mode == .deadReckoning
    let compass = attitude.headingSigmaRadians == nil ? nil : state.magneticField?.source
    state.attitude = Dated(
      attitude, at: newestSample, source: (isNavigating ? navigators : imuSource).union(compass ?? []))
  }
}

extension FusedState.Motion {
  /// The motion for a velocity north, east, down and its standard deviations, in m/s.
  init(_ velocity: SIMD3<Double>, sigma: SIMD3<Double>) {
    let speed = (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot()
    let track = atan2(velocity.y, velocity.x) * 180 / .pi
    self.init(
      // At a very low speed the course is only noise.
      speedMetresPerSecond: speed, trackDegrees: speed < 0.3 ? nil : track < 0 ? track + 360 : track,
      climbMetresPerSecond: -velocity.z, horizontalSigmaMetresPerSecond: sigma.horizontal,
      verticalSigmaMetresPerSecond: sigma.z)
  }
}

extension SIMD3<Double> {
  /// The standard deviation along any horizontal axis, from the standard deviations to the north, east and down.
  fileprivate var horizontal: Double { ((x * x + y * y) / 2).squareRoot() }
}
