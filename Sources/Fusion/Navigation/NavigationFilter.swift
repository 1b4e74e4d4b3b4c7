/// Combines inertial measurements and a receiver's fixes into position, velocity and attitude, by strapdown navigation
/// with an error-state Kalman filter (`NavigationSolution`).
///
/// The filter levels itself and finds its heading by a receiver with two antennas, by the course of a vehicle, by the
/// magnetometer, or by `HeadingHypotheses`. It applies each fix at the fix's own time although the fix arrives late. It
/// detects when the sensor stands still. It refuses implausible measurements. If a fix contradicts the inertial
/// sensors, `JumpRule` decides which of the two is wrong. If it has refused all fixes for too long, it restarts from
/// the next fix. Until the heading is known, it reports the receiver's position and an attitude without a heading.
///
/// Frames: the sensor's axes are the body's (x forward, y right, z down); the earth's are north, east, down. All times
/// are in seconds on one clock. The filter does not allocate after `init`.
public struct NavigationFilter: Sendable {
  /// The 99.9 % quantile of chi-square with three degrees of freedom.
  static let gate = 16.27
  /// The age of the last accepted fix, in seconds, from which the filter is dead reckoning.
  static let aidedSeconds = 2.5
  private static let longestPause = 1.0
  private static let constraintSeconds = 0.1
  private static let longestQueue = 16
  /// If time goes back by more than this many seconds, the measurements come from another clock.
  private static let clockJump = 5.0
  /// The bias sigmas of an unknown sensor, in rad/s and m/s².
  private static let unknownGyroscopeBias = 0.009
  private static let unknownAccelerometerBias = 0.2
  /// The possible change of the rotation rate during a pause, in rad/s².
  private static let pausedTurn = 1.0
  /// The possible change of the acceleration during a pause, in m/s².
  private static let pausedPush = 1.0
  /// The variance of a lost position in m².
  private static let lostVariance = 500.0 * 500

  private struct Entry: Sendable {
    var gyroscope: SIMD3<Double>
    var accelerometer: SIMD3<Double>
    var stillness: Stillness?
    var constrains: Bool
    /// The heading of the compass in radians from true north, if it was read.
    var compassHeading: Double?
    /// The solution after this sample.
    var solution: NavigationSolution
  }

  // Members that are not private are used by other parts of the filter: `NavigationAlignment`, `NavigationConstraints`
  // and `NavigationCorrection`.

  public let configuration: Configuration
  var orientation: OrientationFilter
  private var plausibility = InertialPlausibility()
  private var stillnessDetector = StillnessDetector()
  var hypotheses = HeadingHypotheses()
  /// The rate of the latest sample in rad/s.
  var latestRate = SIMD3<Double>.zero
  var vehicle = VehicleConstraint()
  private var epochMean = EpochMeanDetector()
  var solution: NavigationSolution?
  /// A ring of the latest samples, for going back to the time of a late fix.
  private var history: [Entry] = []
  private let capacity: Int
  private var newest = -1
  var time: Double?
  /// The time of the latest inertial sample, fused or not.
  private var sampledAt: Double?
  /// Fixes that are ahead of the samples, oldest first.
  private var pending: [GNSSMeasurement] = []
  private var latest: GNSSMeasurement?
  var lastAccepted = -Double.infinity
  var lastRestart = -Double.infinity
  private var sinceConstraint = 0.0
  var compass: Compass
  /// The angle from true to magnetic north, positive to the east, in radians; `nil` while unknown.
  public var magneticDeclination: Double? {
    get { compass.declination }
    set { compass.declination = newValue }
  }
  /// When the last stated heading was applied.
  var headingStatedAt: Double?
  /// The series of stated headings that have been refused since `headingStatedAt`.
  var headingRefusal: HeadingRefusal?
  /// The number of consecutive fixes whose course contradicts the stated heading.
  var headingContradictions = 0
  /// Whether the headings that receivers state have proved wrong. They are then no longer used.
  public internal(set) var isHeadingDoubted = false
  var alignedAt = 0.0
  var jumps = JumpRule()
  /// When the current series of samples without a pause began.
  var startedAt = 0.0

  /// Whether the last fix repeated the previous one bit for bit while the solution moved.
  public var isRepetition: Bool { jumps.isRepetition }
  /// When the inertial sensors began to contradict the fixes, and the distance of the fixes from the solution in
  /// metres. Such fixes are refused.
  public var contradiction: (since: Double, metres: Double)? {
    @inline(__always) get { jumps.contradiction.map { ($0.since, $0.metres) } }
  }

  /// The horizontal distance of the latest fix from the solution, in metres, if it is further away than their sigmas
  /// explain; `nil` if they agree. While it is not `nil`, one of the two is wrong.
  public internal(set) var disagreement: Double?
  /// The time of the last fix that ended dead reckoning, and its horizontal distance from the solution as a multiple of
  /// the expected distance (root mean square).
  public internal(set) var reckoningCheck: (time: Double, ratio: Double)?

  /// The difference of the latest fix's position from the expected one, and its expected variance.
  var latestInnovation: (value: SIMD3<Double>, variance: SIMD3<Double>)?
  /// The number of fixes not used: invalid, too late, out of order, contradicted by the solution, or dropped from a
  /// full queue.
  public internal(set) var refusedCount = 0

  public init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
    compass = Compass(configuration)
    orientation = OrientationFilter(configuration)
    // A velocity may be half an epoch older than its fix, so the history must reach further back than `latestFix`.
    let interval = min(configuration.interval, configuration.shortestInterval ?? .infinity)
    let samples = ((configuration.latestFix + 0.75) / max(interval, 1e-4)).rounded(.up)
    capacity = max(4, samples.isFinite ? Int(min(samples, 4094)) + 2 : 4)
    history.reserveCapacity(capacity)
    pending.reserveCapacity(NavigationFilter.longestQueue)
  }

  // MARK: The state

  /// Why the latest inertial sample was not fused; `nil` if it was.
  public var inertialFault: InertialFault? { @inline(__always) get { plausibility.fault } }

  // Inlined, because a call would copy the whole filter.

  /// The time of the latest inertial sample, fused or not: while samples are not fused, the solution becomes old.
  private var present: Double? {
    @inline(__always) get {
      guard let sampledAt, let time else { return sampledAt ?? time }
      return max(sampledAt, time)
    }
  }

  public var mode: FusedState.Mode {
    @inline(__always) get {
      guard let present else { return latest == nil ? .none : .gnss }
      if solution != nil { return present - lastAccepted <= NavigationFilter.aidedSeconds ? .fused : .deadReckoning }
      if let latest, present - latest.time <= 5 { return .gnss }
      return time != nil && orientation.isLevelled ? .attitude : .none
    }
  }

  /// The time of the last accepted fix in seconds; `nil` unless the filter is dead reckoning.
  public var deadReckoningSince: Double? {
    @inline(__always) get { mode == .deadReckoning ? lastAccepted : nil }
  }

  /// The rotation from body axes to north, east, down. The heading is meaningful only while `headingSigma` is not
  /// `nil`.
  public var attitude: Quaternion {
    @inline(__always) get {
      if let solution { return solution.attitude }
      guard let declination = compass.declination, orientation.hasHeading else { return orientation.attitude }
      return Quaternion(about: declination) * orientation.attitude
    }
  }

  /// The direction that the heading counts from. The heading of a solution counts from true north even without a
  /// declination, because it comes from fixes.
  public var north: FusedState.Attitude.North {
    @inline(__always) get {
      if compass.declination == nil, solution == nil { return .magnetic }
      return .geographic(declinationRadians: compass.declination)
    }
  }

  /// The standard deviation of roll and pitch in radians.
  public var inclinationSigma: Double {
    @inline(__always) get {
      guard let variance = solution?.covariance.tt else { return orientation.inclinationSigma }
      return (0.5 * (variance.rows.0.x + variance.rows.1.y)).squareRoot()
    }
  }

  /// The sigma of the heading in radians; `nil` while the heading is unknown.
  public var headingSigma: Double? {
    @inline(__always) get {
      if let variance = solution?.covariance.tt.rows.2.z { return variance.squareRoot() }
      return orientation.hasHeading ? compass.sigma(orientation) : nil
    }
  }

  /// The position of the IMU, or that of the antenna before navigation has begun; `nil` without a recent fix.
  public var position: GeodeticPosition? {
    @inline(__always) get { solution?.position ?? (mode == .gnss ? latest?.position : nil) }
  }

  /// The standard deviations north, east, down in metres.
  public var positionSigma: SIMD3<Double>? {
    @inline(__always) get {
      // The position may be old. The distance since then is estimated from the last speed.
      if let solution {
        let age = max(0, (present ?? solution.time) - solution.time)
        let sigma = solution.covariance.pp.diagonal.squareRoot()
        return age > 0 ? sigma + SIMD3(repeating: age * solution.velocity.length) : sigma
      }
      guard mode == .gnss, let latest else { return nil }
      let age = max(0, (present ?? latest.time) - latest.time)
      let moved = age * (latest.validVelocity?.length ?? 1)
      return latest.positionSigma + SIMD3(repeating: moved)
    }
  }

  /// The velocity north, east, down in m/s.
  public var velocity: SIMD3<Double>? {
    @inline(__always) get { solution?.velocity ?? (mode == .gnss ? latest?.validVelocity : nil) }
  }

  public var velocitySigma: SIMD3<Double>? {
    if let variance = solution?.covariance.vv.diagonal { return variance.squareRoot() }
    guard mode == .gnss, let latest, latest.validVelocity != nil else { return nil }
    return latest.velocitySigma
  }

  /// The gyroscope bias in rad/s.
  public var gyroscopeBias: SIMD3<Double> { solution?.gyroscopeBias ?? orientation.gyroscopeBias }
  /// The accelerometer bias in m/s²; `nil` before navigation has begun.
  public var accelerometerBias: SIMD3<Double>? { solution?.accelerometerBias }

  // MARK: Measurements

  /// Processes an inertial sample.
  ///
  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: specific force, m/s²
  ///   - magnetometer: microtesla; `nil` if this sample has none
  ///   - now: seconds. A sample that is not newer than the previous one is ignored; one that is more than five seconds
  ///     older restarts the filter
  public mutating func update(
    gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, magnetometer: SIMD3<Double>? = nil, time now: Double
  ) {
    guard now.isFinite, gyroscope.isFinite, accelerometer.isFinite, gyroscope.length < 1e3, accelerometer.length < 1e4
    else { return }
    guard admits(gyroscope, accelerometer, at: now) else { return }
    guard let before = time else {
      time = now
      startedAt = now
      orientation.update(
        gyroscope: gyroscope, accelerometer: accelerometer, magnetometer: magnetometer, seconds: configuration.interval)
      return
    }
    if before - now > NavigationFilter.clockJump {
      // The clock has restarted, so the filter starts again.
      abandon()
      latest = nil
      time = now
      startedAt = now
      return
    }
    let dt = now - before
    guard dt > 0 else { return }
    time = now
    compass.goOn(dt)
    orientation.update(
      gyroscope: gyroscope, accelerometer: accelerometer, magnetometer: magnetometer, seconds: dt)
    if dt > max(NavigationFilter.longestPause, 5 * configuration.interval) {
      // The motion during the pause is unknown.
      abandon()
      startedAt = now
      return
    }
    let bias = solution?.gyroscopeBias ?? orientation.gyroscopeBias
    var stillness: Stillness?
    if case .still(let found) = stillnessDetector.update(
      gyroscope: gyroscope, accelerometer: accelerometer, bias: bias, seconds: dt)
    {
      stillness = found
    }
    if solution != nil {
      sinceConstraint += dt
      let constrains = configuration.isVehicle && sinceConstraint >= NavigationFilter.constraintSeconds
      if constrains { sinceConstraint = 0 }
      let heading = compass.isDue(after: dt) ? compass.reading(orientation)?.heading : nil
      advance(gyroscope, accelerometer, stillness, constrains, heading, to: now)
    } else {
      hypotheses.propagate(
        gyroscope: gyroscope, accelerometer: accelerometer, to: now, configuration.noise)
      latestRate = gyroscope
    }
    if let diagonal = solution?.covariance.pp.diagonal, max(diagonal.x, diagonal.y) > NavigationFilter.lostVariance {
      // A position with such a large uncertainty is useless.
      abandon()
    }
    while let fix = pending.first, fix.time <= now {
      pending.removeFirst()
      apply(fix)
    }
  }

  /// Whether an inertial sample is plausible. If the scale of the sensor is wrong, everything learnt from it is
  /// discarded.
  private mutating func admits(
    _ gyroscope: SIMD3<Double>, _ accelerometer: SIMD3<Double>, at now: Double
  ) -> Bool {
    let before = sampledAt
    sampledAt = now
    let seconds = before.map { now - $0 } ?? configuration.interval
    // The filter itself handles a repeated or earlier time.
    guard seconds > 0 else { return true }
    if plausibility.admits(gyroscope: gyroscope, accelerometer: accelerometer, seconds: seconds) { return true }
    if plausibility.fault != .repeats, time != nil {
      abandon()
      orientation = OrientationFilter(configuration)
      time = nil
    }
    return false
  }

  /// Continues with another inertial sensor. Position, velocity and attitude stay; the biases of the new sensor are
  /// unknown.
  ///
  /// - Parameter interval: the time between its samples, seconds
  public mutating func changeInertialSensor(interval: Double) {
    plausibility = InertialPlausibility()
    orientation.changeSensor(interval: interval)
    guard var now = solution else { return hypotheses.reset() }
    now.gyroscopeBias = .zero
    now.accelerometerBias = .zero
    let (gyroscope, accelerometer) = (NavigationFilter.unknownGyroscopeBias, NavigationFilter.unknownAccelerometerBias)
    now.covariance.restartBiases(
      gyroscope: SIMD3(repeating: gyroscope * gyroscope),
      accelerometer: SIMD3(repeating: accelerometer * accelerometer))
    solution = now
    // Going back in time would restore the biases of the previous sensor.
    history.removeAll(keepingCapacity: true)
    newest = -1
    remember(.zero, .zero, nil, false, nil)
  }

  /// Processes a fix. A fix that is ahead of the inertial samples waits for them. A fix that is late is applied at its
  /// own time.
  public mutating func update(_ fix: GNSSMeasurement) {
    if let last = pending.last ?? latest, last.time - fix.time > NavigationFilter.clockJump {
      // The fix is not late, but from another clock: the recording or the receiver has restarted.
      abandon()
      latest = nil
    }
    guard fix.isValid, fix.time > (pending.last ?? latest)?.time ?? -.infinity,
      (time ?? fix.time) - fix.time <= configuration.latestFix
    else {
      refusedCount += 1
      return
    }
    guard let time, fix.time <= time else {
      if time == nil || fix.time - (time ?? 0) > NavigationFilter.longestPause {
        // There are no inertial samples, or they have ended.
        abandon()
        latest = fix
      } else {
        if pending.count == NavigationFilter.longestQueue {
          pending.removeFirst()
          refusedCount += 1
        }
        pending.append(fix)
      }
      return
    }
    apply(fix)
  }

  mutating func abandon() {
    if solution != nil { solution = nil }
    jumps.reset()
    hypotheses.reset()
    (headingStatedAt, headingRefusal) = (nil, nil)
    history.removeAll(keepingCapacity: true)
    newest = -1
    pending.removeAll(keepingCapacity: true)
  }

  private mutating func apply(_ fix: GNSSMeasurement) {
    let interval = latest.map { fix.time - $0.time } ?? .infinity
    latest = fix
    compareHeadingWithCourse(fix)
    guard solution != nil else { return align(fix) }
    epochMean.update(fix)
    if epochMean.velocityAge > 0 {
      take(fix, .velocity, at: fix.time - epochMean.velocityAge, sinceLast: interval)
      take(fix, .position, at: fix.time, sinceLast: interval)
    } else {
      take(fix, .both, at: fix.time, sinceLast: interval)
    }
    if let solution, !solution.isFinite { abandon() }
  }

  // MARK: Navigation

  /// Continues the navigation from a solution.
  mutating func begin(_ solution: NavigationSolution) {
    self.solution = solution
    disagreement = nil
    time = solution.time
    alignedAt = solution.time
    sinceConstraint = 0
    history.removeAll(keepingCapacity: true)
    newest = -1
    remember(.zero, .zero, nil, false, nil)
  }

  private mutating func advance(
    _ gyroscope: SIMD3<Double>, _ accelerometer: SIMD3<Double>, _ stillness: Stillness?, _ constrains: Bool,
    _ compassHeading: Double?, to now: Double
  ) {
    let pause = now - (solution?.time ?? now)
    solution?.propagate(gyroscope: gyroscope, accelerometer: accelerometer, to: now, configuration.noise)
    if pause > max(0.1, 5 * configuration.interval) {
      // Rotation and acceleration may have changed during the pause.
      let turn = 0.5 * NavigationFilter.pausedTurn * pause * pause
      let push = NavigationFilter.pausedPush * pause
      solution?.covariance.addNoise(
        position: 0.25 * push * push * pause * pause, positionVelocity: 0.5 * push * push * pause,
        velocity: push * push, attitude: SIMD3(repeating: turn * turn), gyroscopeBias: 0, accelerometerBias: 0)
    }
    applyConstraints(gyroscope, stillness, constrains, compassHeading)
    remember(gyroscope, accelerometer, stillness, constrains, compassHeading)
  }

  private mutating func remember(
    _ gyroscope: SIMD3<Double>, _ accelerometer: SIMD3<Double>, _ stillness: Stillness?, _ constrains: Bool,
    _ compassHeading: Double?
  ) {
    guard let solution else { return }
    let entry = Entry(
      gyroscope: gyroscope, accelerometer: accelerometer, stillness: stillness, constrains: constrains,
      compassHeading: compassHeading, solution: solution)
    newest = (newest + 1) % capacity
    if history.count < capacity { history.append(entry) } else { history[newest] = entry }
  }

  /// The part of a fix to apply.
  private enum Part {
    case position
    case velocity
    /// Position and velocity at the same time, in one pass over the history.
    case both
  }

  /// Goes back to the time of a measurement, applies it, and repeats the samples since then.
  private mutating func take(_ fix: GNSSMeasurement, _ part: Part, at time: Double, sinceLast: Double) {
    guard solution != nil else { return }
    var back = 0
    func index(_ back: Int) -> Int { (newest - back + capacity) % capacity }
    while back < history.count, history[index(back)].solution.time > time { back += 1 }
    guard back < history.count else {
      refusedCount += 1
      return
    }
    solution = history[index(back)].solution
    let next = back > 0 ? history[index(back - 1)] : nil
    if let next {
      solution?.propagate(
        gyroscope: next.gyroscope, accelerometer: next.accelerometer, to: time, configuration.noise)
    }
    // If the position of a fix is impossible, its velocity is not trusted either.
    if part != .position, jumps.contradiction == nil {
      correctVelocity(fix, gyroscope: next?.gyroscope ?? history[index(back)].gyroscope)
    }
    if part != .velocity {
      correctPosition(fix, sinceLast: sinceLast)
      correctHeading(fix, sinceLast: sinceLast)
    }
    // A restart may have discarded the solution.
    guard let corrected = solution else { return }
    // Another fix before the next sample continues from here.
    history[index(back)].solution = corrected
    while back > 0 {
      back -= 1
      let entry = history[index(back)]
      solution?.propagate(
        gyroscope: entry.gyroscope, accelerometer: entry.accelerometer, to: entry.solution.time, configuration.noise)
      applyConstraints(entry.gyroscope, entry.stillness, entry.constrains, entry.compassHeading)
      if let solution { history[index(back)].solution = solution }
    }
  }
}

extension OrientationFilter {
  fileprivate init(_ configuration: NavigationFilter.Configuration) {
    self.init(
      interval: configuration.interval, magneticInterval: configuration.magneticInterval,
      magneticStrength: configuration.magneticStrength)
  }
}
