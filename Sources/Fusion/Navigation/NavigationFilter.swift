/// Joins inertial measurements and a receiver's fixes into position, velocity and attitude: strap-down navigation,
/// corrected by an error-state Kalman filter (`NavigationSolution`).
///
/// It levels itself, finds its heading (by course in a vehicle, by magnetometer, or by `HeadingHypotheses`), takes each
/// fix at the fix's own time although it comes late, stands still when the sensor does, refuses what cannot be true (see
/// `JumpRule` for who is believed then), and starts afresh when it has refused everything for a while. Until it knows its heading it says so, and reports the
/// receiver's position and an attitude without heading.
///
/// Frames: sensor's axes are the body's (x forward, y right, z down); the earth's are north, east, down. Times in seconds
/// on one clock. No allocation after `init`.
public struct NavigationFilter: Sendable {
  /// Chi-square with three degrees of freedom: 99.9 % lie inside.
  static let gate = 16.27
  /// A fix older than this no longer aids.
  private static let aidedSeconds = 2.5
  private static let longestPause = 1.0
  private static let constraintSeconds = 0.1
  private static let longestQueue = 16
  /// A time that goes back by more than this is that of another clock, seconds.
  private static let clockJump = 5.0
  /// Of a sensor of which nothing is known yet, rad/s and m/s².
  private static let unknownGyroscopeBias = 0.009
  private static let unknownAccelerometerBias = 0.2
  /// What may change in a pause: how fast it turns, rad/s², and how hard it is pushed, m/s².
  private static let pausedTurn = 1.0
  private static let pausedPush = 1.0
  /// m²
  private static let lostVariance = 500.0 * 500

  private struct Entry: Sendable {
    var gyroscope: SIMD3<Double>
    var accelerometer: SIMD3<Double>
    var stillness: Stillness?
    var constrains: Bool
    /// Radians from true north, where the compass was asked.
    var compassHeading: Double?
    /// After this sample.
    var solution: NavigationSolution
  }

  // What is not private is for the rest of the filter as well: how it begins (`NavigationAlignment`), what is known beside fixes
  // (`NavigationConstraints`), and what fixes change (`NavigationCorrection`).

  public let configuration: Configuration
  var orientation: OrientationFilter
  private var plausibility = InertialPlausibility()
  private var stillnessDetector = StillnessDetector()
  var hypotheses = HeadingHypotheses()
  /// Of the latest sample, rad/s.
  var latestRate = SIMD3<Double>.zero
  var vehicle = VehicleConstraint()
  private var epochMean = EpochMeanDetector()
  var solution: NavigationSolution?
  /// A ring of the latest samples, to go back to when a fix comes late.
  private var history: [Entry] = []
  private let capacity: Int
  private var newest = -1
  var time: Double?
  /// Of the latest inertial sample, whether it was fused or not.
  private var sampledAt: Double?
  /// Fixes ahead of the samples, oldest first.
  private var pending: [GNSSMeasurement] = []
  private var latest: GNSSMeasurement?
  var lastAccepted = -Double.infinity
  var lastRestart = -Double.infinity
  private var sinceConstraint = 0.0
  var compass: Compass
  /// How far east of true north the magnetic north lies, radians; `nil` while that is not known.
  public var magneticDeclination: Double? {
    get { compass.declination }
    set { compass.declination = newValue }
  }
  var alignedAt = 0.0
  var jumps = JumpRule()
  /// Since when samples have come without a pause.
  var startedAt = 0.0

  /// Whether the last fix repeated the one before to the last bit, while the vehicle moved.
  public var isRepetition: Bool { jumps.isRepetition }
  /// Since when fixes have been refused because the inertial sensors contradict them, and how far off they are, metres.
  public var contradiction: (since: Double, metres: Double)? {
    @inline(__always) get { jumps.contradiction.map { ($0.since, $0.metres) } }
  }

  /// How the latest fix's position differed from what was expected, and the variance expected of that.
  var latestInnovation: (value: SIMD3<Double>, variance: SIMD3<Double>)?
  /// Fixes left out: too late, out of order, or not possible.
  public internal(set) var refusedCount = 0

  public init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
    compass = Compass(configuration)
    orientation = OrientationFilter(configuration)
    // A velocity may be older than its fix by half an epoch.
    let interval = min(configuration.interval, configuration.shortestInterval ?? .infinity)
    let samples = ((configuration.latestFix + 0.75) / max(interval, 1e-4)).rounded(.up)
    capacity = max(4, samples.isFinite ? Int(min(samples, 4094)) + 2 : 4)
    history.reserveCapacity(capacity)
    pending.reserveCapacity(NavigationFilter.longestQueue)
  }

  // MARK: What is known

  /// Why the latest inertial sample was not fused; `nil` where it was.
  public var inertialFault: InertialFault? { @inline(__always) get { plausibility.fault } }

  // Inlined: to be asked by a call, the filter would first be copied whole.

  public var mode: FusedState.Mode {
    @inline(__always) get {
      guard let time else { return latest == nil ? .none : .gnss }
      if solution != nil { return time - lastAccepted <= NavigationFilter.aidedSeconds ? .fused : .deadReckoning }
      if let latest, time - latest.time <= 5 { return .gnss }
      return orientation.isLevelled ? .attitude : .none
    }
  }

  /// Since when there have been no fixes, seconds; `nil` unless dead reckoning.
  public var deadReckoningSince: Double? {
    @inline(__always) get { mode == .deadReckoning ? lastAccepted : nil }
  }

  /// Body to north, east, down; the heading means something only while `headingSigma` is known.
  public var attitude: Quaternion {
    @inline(__always) get {
      if let solution { return solution.attitude }
      guard let declination = compass.declination, orientation.hasHeading else { return orientation.attitude }
      return Quaternion(about: declination) * orientation.attitude
    }
  }

  /// One standard deviation of roll and pitch, radians.
  public var inclinationSigma: Double {
    @inline(__always) get {
      guard let variance = solution?.covariance.tt else { return orientation.inclinationSigma }
      return (0.5 * (variance.rows.0.x + variance.rows.1.y)).squareRoot()
    }
  }

  /// Radians; `nil` while the heading is not known.
  public var headingSigma: Double? {
    @inline(__always) get {
      if let variance = solution?.covariance.tt.rows.2.z { return variance.squareRoot() }
      return orientation.hasHeading ? compass.sigma(orientation) : nil
    }
  }

  /// Of the IMU; `nil` before the first fix.
  public var position: GeodeticPosition? {
    @inline(__always) get { solution?.position ?? (mode == .gnss ? latest?.position : nil) }
  }

  /// North, east, down, metres.
  public var positionSigma: SIMD3<Double>? {
    @inline(__always) get {
      if let variance = solution?.covariance.pp.diagonal { return variance.squareRoot() }
      guard mode == .gnss, let latest else { return nil }
      // The position has grown old; how far it may have moved since is not known better than by its speed.
      let age = max(0, (time ?? latest.time) - latest.time)
      let moved = age * (latest.validVelocity?.length ?? 1)
      return latest.positionSigma + SIMD3(repeating: moved)
    }
  }

  /// North, east, down, m/s.
  public var velocity: SIMD3<Double>? {
    @inline(__always) get { solution?.velocity ?? (mode == .gnss ? latest?.validVelocity : nil) }
  }

  public var velocitySigma: SIMD3<Double>? {
    if let variance = solution?.covariance.vv.diagonal { return variance.squareRoot() }
    guard mode == .gnss, let latest, latest.validVelocity != nil else { return nil }
    return latest.velocitySigma
  }

  /// rad/s
  public var gyroscopeBias: SIMD3<Double> { solution?.gyroscopeBias ?? orientation.gyroscopeBias }
  /// m/s²; `nil` before navigation has begun.
  public var accelerometerBias: SIMD3<Double>? { solution?.accelerometerBias }

  // MARK: Measurements

  /// Takes an inertial sample.
  ///
  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: specific force, m/s²
  ///   - magnetometer: microtesla, where there is one
  ///   - time: a sample that is not newer than the one before is left out
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
      // The clock has started again: so does everything that hangs on it.
      abandon()
      latest = nil
      time = now
      startedAt = now
      return
    }
    let dt = now - before
    guard dt > 0 else { return }
    time = now
    orientation.update(
      gyroscope: gyroscope, accelerometer: accelerometer, magnetometer: magnetometer, seconds: dt)
    if dt > max(NavigationFilter.longestPause, 5 * configuration.interval) {
      // What happened meanwhile nobody knows.
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
      // A position that may be anywhere is none.
      abandon()
    }
    while let fix = pending.first, fix.time <= now {
      pending.removeFirst()
      apply(fix)
    }
  }

  /// Whether an inertial sample can be true. Of a sensor whose scale is wrong nothing that was learnt holds.
  private mutating func admits(
    _ gyroscope: SIMD3<Double>, _ accelerometer: SIMD3<Double>, at now: Double
  ) -> Bool {
    let before = sampledAt
    sampledAt = now
    let seconds = before.map { now - $0 } ?? configuration.interval
    // Of a repeated or earlier time the filter says itself what it makes.
    guard seconds > 0 else { return true }
    if plausibility.admits(gyroscope: gyroscope, accelerometer: accelerometer, seconds: seconds) { return true }
    if plausibility.fault != .repeats, time != nil {
      abandon()
      orientation = OrientationFilter(configuration)
      time = nil
    }
    return false
  }

  /// Another inertial sensor goes on from here: the attitude stays, and what was learnt of the biases is of the one before.
  ///
  /// - Parameter interval: seconds between its samples
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
    // A journey back would bring the old biases with it.
    history.removeAll(keepingCapacity: true)
    newest = -1
    remember(.zero, .zero, nil, false, nil)
  }

  /// Takes a fix. One that is ahead of the inertial samples waits for them; one that is late is applied at its own time.
  public mutating func update(_ fix: GNSSMeasurement) {
    if let last = pending.last ?? latest, last.time - fix.time > NavigationFilter.clockJump {
      // Not late, but of another clock: the recorder or the receiver has started again.
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
        // No inertial samples, or no more.
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
    history.removeAll(keepingCapacity: true)
    newest = -1
    pending.removeAll(keepingCapacity: true)
  }

  private mutating func apply(_ fix: GNSSMeasurement) {
    let interval = latest.map { fix.time - $0.time } ?? .infinity
    latest = fix
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

  /// Navigates on from a solution.
  mutating func begin(_ solution: NavigationSolution) {
    self.solution = solution
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
      // Between its ends it may have turned and been pushed in another way.
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

  /// A part of a fix.
  private enum Part {
    case position
    case velocity
    /// Both at one time, which must not be two journeys back: the second would start before what the first has changed.
    case both
  }

  /// Goes back to a measurement's own time, takes it, and comes back over the samples since.
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
    // Of a fix that is where it cannot be the velocity is no truer.
    if part != .position, jumps.contradiction == nil {
      correctVelocity(fix, gyroscope: next?.gyroscope ?? history[index(back)].gyroscope)
    }
    if part != .velocity { correctPosition(fix, sinceLast: sinceLast) }
    // A restart may have given up altogether.
    guard let corrected = solution else { return }
    // Another fix before the next sample goes on from here.
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
