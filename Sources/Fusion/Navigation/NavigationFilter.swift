import Glibc

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
  private static let gate = 16.27
  private static let refusal = 100.0
  /// Fixes that are refused for so long are right after all.
  private static let patience = JumpRule.patience
  /// No receiver is less sure than this in the open, metres.
  private static let soberSigma = 5.0
  /// A fix older than this no longer aids.
  private static let aidedSeconds = 2.5
  private static let longestPause = 1.0
  private static let alignmentSpeed = 2.0
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

  public let configuration: Configuration
  private var orientation: OrientationFilter
  private var stillnessDetector = StillnessDetector()
  private var hypotheses = HeadingHypotheses()
  /// Of the latest sample, rad/s.
  private var latestRate = SIMD3<Double>.zero
  private var vehicle = VehicleConstraint()
  private var epochMean = EpochMeanDetector()
  private(set) var solution: NavigationSolution?
  /// A ring of the latest samples, to go back to when a fix comes late.
  private var history: [Entry] = []
  private let capacity: Int
  private var newest = -1
  private var time: Double?
  /// Fixes ahead of the samples, oldest first.
  private var pending: [GNSSMeasurement] = []
  private var latest: GNSSMeasurement?
  private var lastAccepted = -Double.infinity
  private var lastRestart = -Double.infinity
  private var sinceConstraint = 0.0
  private var compass: Compass
  /// How far east of true north the magnetic north lies, radians; `nil` while that is not known.
  public var magneticDeclination: Double? {
    get { compass.declination }
    set { compass.declination = newValue }
  }
  private var alignedAt = 0.0
  private var jumps = JumpRule()
  /// Since when samples have come without a pause.
  private var startedAt = 0.0

  /// Whether the last fix repeated the one before to the last bit, while the vehicle moved.
  public var isRepetition: Bool { jumps.isRepetition }
  /// Since when fixes have been refused because the inertial sensors contradict them, and how far off they are, metres.
  public var contradiction: (since: Double, metres: Double)? {
    @inline(__always) get { jumps.contradiction.map { ($0.since, $0.metres) } }
  }

  /// How the latest fix's position differed from what was expected, and the variance expected of that.
  private(set) var latestInnovation: (value: SIMD3<Double>, variance: SIMD3<Double>)?
  /// Fixes left out: too late, out of order, or not possible.
  public private(set) var refusedCount = 0

  public init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
    compass = Compass(configuration)
    orientation = OrientationFilter(
      interval: configuration.interval, magneticInterval: configuration.magneticInterval,
      magneticStrength: configuration.magneticStrength)
    // A velocity may be older than its fix by half an epoch.
    let interval = min(configuration.interval, configuration.shortestInterval ?? .infinity)
    let samples = ((configuration.latestFix + 0.75) / max(interval, 1e-4)).rounded(.up)
    capacity = max(4, samples.isFinite ? Int(min(samples, 4094)) + 2 : 4)
    history.reserveCapacity(capacity)
    pending.reserveCapacity(NavigationFilter.longestQueue)
  }

  // MARK: What is known

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

  /// Another inertial sensor goes on from here: the attitude stays, and what was learnt of the biases is of the one before.
  ///
  /// - Parameter interval: seconds between its samples
  public mutating func changeInertialSensor(interval: Double) {
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

  private mutating func abandon() {
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

  // MARK: Alignment

  private mutating func align(_ fix: GNSSMeasurement) {
    guard orientation.isLevelled, max(fix.positionSigma.x, fix.positionSigma.y) < 50 else { return }
    guard let (turn, sigma) = heading(fix) else { return compareHypotheses(fix) }
    var start = startingPoint(fix)
    start.attitude = (Quaternion(about: turn) * start.attitude).normalized
    start.covariance.tt.rows.2.z = sigma * sigma
    lastAccepted = fix.time
    begin(start)
  }

  /// A solution from a fix and the level, with any heading.
  private func startingPoint(_ fix: GNSSMeasurement) -> NavigationSolution {
    let now = time ?? fix.time
    let velocity = fix.validVelocity ?? .zero
    let velocitySigma = fix.validVelocity == nil ? SIMD3(repeating: 5) : fix.velocitySigma
    let age = now - fix.time
    let positionSigma =
      fix.positionSigma + SIMD3(repeating: 0.05 + 0.5 * age + (fix.leverArm ?? configuration.leverArm).length)
    let biasSigma = orientation.gyroscopeBiasSigma
    // Bends tilt the vertical that is found on the move, and sharp ones by more than most.
    let isLevel = orientation.isAtRest || now - startedAt > 20 && velocity.length < 1
    let tiltSigma = isLevel ? 0.03 : max(0.15, orientation.inclinationSigma)
    let tilt = tiltSigma * tiltSigma
    return NavigationSolution(
      time: now, position: fix.position.moved(by: age * velocity), velocity: velocity, attitude: orientation.attitude,
      gyroscopeBias: orientation.gyroscopeBias, accelerometerBias: .zero,
      covariance: ErrorCovariance(
        position: positionSigma * positionSigma, velocity: velocitySigma * velocitySigma + SIMD3(repeating: 0.04),
        attitude: SIMD3(tilt, tilt, 1),
        gyroscopeBias: biasSigma * biasSigma + SIMD3(repeating: 1e-7),
        accelerometerBias: SIMD3(repeating: 0.04)))
  }

  /// By how much the levelled attitude has to be turned, and how sure that is; `nil` while it cannot be told.
  private func heading(_ fix: GNSSMeasurement) -> (turn: Double, sigma: Double)? {
    if configuration.isVehicle {
      guard let velocity = fix.validVelocity else { return nil }
      let speed = (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot()
      let sigma = max(fix.velocitySigma.x, fix.velocitySigma.y)
      guard speed > max(NavigationFilter.alignmentSpeed, 3 * sigma) else {
        // At rest only a compass tells, and in a vehicle one that has been calibrated there.
        return configuration.magneticStrength == nil ? nil : turnToCompass
      }
      return (atan2(velocity.y, velocity.x) - orientation.attitude.yaw, sigma / speed + 0.06)
    }
    return turnToCompass
  }

  private var turnToCompass: (turn: Double, sigma: Double)? {
    compass.reading(orientation).map { ($0.heading - orientation.attitude.yaw, $0.sigma) }
  }

  /// Lets the fix decide between headings. The bank only runs once something moves: at rest there is nothing to decide.
  private mutating func compareHypotheses(_ fix: GNSSMeasurement) {
    guard !configuration.isVehicle, let velocity = fix.validVelocity, let time else { return }
    guard hypotheses.isRunning else {
      let moving = max(0.5, 3 * max(fix.velocitySigma.x, fix.velocitySigma.y))
      if velocity.length > moving { hypotheses.begin(with: startingPoint(fix)) }
      return
    }
    // The fix as of now: a bank does not go back in time.
    let age = time - fix.time
    var late = fix
    late.position = fix.position.moved(by: age * velocity)
    let found = hypotheses.correct(
      position: { [configuration, late] in configuration.positionObservation(late, $0) },
      velocity: { [configuration, late, latestRate] in
        var observation = configuration.velocityObservation(late, measured: velocity, $0, gyroscope: latestRate)
        // It may have changed by so much since.
        observation.variance += SIMD3(repeating: age * age)
        return observation
      })
    guard let found else { return }
    lastAccepted = fix.time
    begin(found)
  }

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

  // MARK: Navigation

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

  private mutating func applyConstraints(
    _ gyroscope: SIMD3<Double>, _ stillness: Stillness?, _ constrains: Bool, _ compassHeading: Double?
  ) {
    if let stillness { standStill(stillness) }
    if constrains { constrain(gyroscope) }
    if let compassHeading { correctHeading(compassHeading) }
  }

  /// The compass's errors stay the same for long: it says nothing new to who knows the heading better.
  private mutating func correctHeading(_ heading: Double) {
    guard let now = solution else { return }
    let sigma = compass.sigma(orientation)
    let variance = sigma * sigma
    guard now.covariance.tt.rows.2.z > variance else { return }
    var innovation = heading - now.attitude.yaw
    innovation -= (innovation / (2 * .pi)).rounded() * 2 * .pi
    guard innovation * innovation < 10.83 * (now.covariance.tt.rows.2.z + variance) else { return }
    solution?.correct(ErrorCovariance.Row(t: SIMD3(0, 0, 1)), innovation: innovation, variance: variance)
  }

  private mutating func standStill(_ stillness: Stillness) {
    guard let now = solution else { return }
    let standstill = now.observationOfStandstill(variance: 0.02 * 0.02)
    // Gliding over ice looks like standing still: what fixes say counts more.
    guard now.surprise(standstill) < NavigationFilter.gate else { return }
    solution?.correct(standstill)
    // Standing still has changed the bias that is expected here.
    guard let now = solution else { return }
    let bias = now.observation(ofStillness: stillness, floor: 2e-4)
    if now.surprise(bias) < NavigationFilter.gate { solution?.correct(bias) }
  }

  private mutating func constrain(_ gyroscope: SIMD3<Double>) {
    guard let now = solution else { return }
    let (value, byVelocity, byAttitude) = now.bodyVelocity
    guard value.x > 1 || value.x < -1 else { return }
    let yawRate = gyroscope.z - now.gyroscopeBias.z
    let expected = vehicle.expectation(forward: value.x, yawRate: yawRate)
    let sideways = ErrorCovariance.Row(v: byVelocity.rows.1, t: byAttitude.rows.1)
    let downward = ErrorCovariance.Row(v: byVelocity.rows.2, t: byAttitude.rows.2)
    func correct(_ row: ErrorCovariance.Row, _ innovation: Double, _ sigma: Double) {
      // Ten a second share their errors.
      let variance = 10 * sigma * sigma
      let g = now.covariance.times(row)
      let s = ErrorCovariance.Row.dot(row, g) + sigma * sigma
      guard innovation * innovation < 10.83 * s else { return }
      solution?.correct(row, innovation: innovation, variance: variance)
    }
    correct(sideways, expected.sideways - value.y, expected.sidewaysSigma)
    guard let now = solution else { return }
    correct(downward, expected.downward - now.bodyVelocity.value.z, expected.downwardSigma)
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

  private mutating func correctPosition(_ fix: GNSSMeasurement, sinceLast: Double) {
    guard let now = solution else { return }
    // Errors that stay the same for a while make many fixes worth few.
    let repetition = sinceLast.isFinite ? 1 + 2 * configuration.correlationTime / max(sinceLast, 0.01) : 1
    // How far off one fix may be does not depend on how many of them agree.
    let single = configuration.positionObservation(fix, now)
    latestInnovation = (single.innovation, now.covariance.pp.diagonal + single.variance)
    let taken = configuration.positionObservation(fix, now, repetition: repetition)
    let surprise = now.surprise(single)
    let agreement = now.time - max(alignedAt, lastRestart)
    if jumps.refusesRepetition(fix, offset: single.innovation, speed: now.sureSpeed, agreement: agreement) {
      refusedCount += 1
      return
    }
    // Who has been caught, or says himself that he is deceived, is not believed by halves.
    let isSuspect = jumps.contradiction != nil || fix.trust == .doubted
    if !isSuspect || now.surprise(sober(fix, now)) < NavigationFilter.gate,
      let observation = credible(taken, surprise: surprise)
    {
      if jumps.contradiction != nil, JumpRule.horizontal(single.innovation) > JumpRule.leastJump {
        // Only because nothing is sure any more: what so large a correction would say of velocity and attitude is not true.
        return restart(fix)
      }
      jumps.agreed(single.innovation)
      solution?.correct(observation)
      lastAccepted = fix.time
      return
    }
    refusedCount += 1
    switch jumps.judge(fix, offset: single.innovation, pause: sinceLast, agreement: agreement) {
    case .refuse: break
    case .none: if fix.trust != .doubted, fix.time - lastAccepted > NavigationFilter.patience { restart(fix) }
    case .take: restart(fix)
    }
  }

  /// The same fix without doubts of it: that it may be anywhere makes a jump no more credible.
  private func sober(_ fix: GNSSMeasurement, _ now: NavigationSolution) -> NavigationSolution.Observation {
    var fix = fix
    let most = NavigationFilter.soberSigma
    fix.positionSigma = SIMD3(
      min(fix.positionSigma.x, most), min(fix.positionSigma.y, most), fix.positionSigma.z)
    return configuration.positionObservation(fix, now)
  }

  private mutating func correctVelocity(_ fix: GNSSMeasurement, gyroscope: SIMD3<Double>) {
    guard let measured = fix.validVelocity, let now = solution else { return }
    let observation = configuration.velocityObservation(fix, measured: measured, now, gyroscope: gyroscope)
    guard let credible = credible(observation, surprise: now.surprise(observation)) else { return }
    solution?.correct(credible)
    if configuration.isVehicle { learn(gyroscope) }
  }

  /// A measurement as far as it is to be believed: one beyond the gate counts less the further off it is, as receivers
  /// that claim centimetres are off by decimetres in a bend; one far beyond is refused.
  private func credible(
    _ observation: NavigationSolution.Observation, surprise: Double
  ) -> NavigationSolution.Observation? {
    guard surprise < NavigationFilter.refusal else { return nil }
    var observation = observation
    if surprise > NavigationFilter.gate {
      // The innovation's own variance instead of the claimed one.
      observation.variance += observation.innovation * observation.innovation
    }
    return observation
  }

  private mutating func learn(_ gyroscope: SIMD3<Double>) {
    guard let now = solution, now.time - alignedAt > 20 else { return }
    let (value, _, byAttitude) = now.bodyVelocity
    guard value.x > 3 else { return }
    func variance(_ row: SIMD3<Double>) -> Double { dot(row, now.covariance.tt * row) }
    vehicle.learn(
      velocity: value, yawRate: gyroscope.z - now.gyroscopeBias.z,
      variance: SIMD2(variance(byAttitude.rows.1), variance(byAttitude.rows.2)))
  }

  /// Everything was refused for too long: the fix is taken as it is. Twice in a minute, the heading must be wrong.
  private mutating func restart(_ fix: GNSSMeasurement) {
    guard let now = solution, now.time - lastRestart > 60 else {
      compass.isDoubted = true
      return abandon()
    }
    lastRestart = now.time
    lastAccepted = fix.time
    jumps.reset()
    let arm = now.attitude.rotate(fix.leverArm ?? configuration.leverArm)
    solution?.position = fix.position.moved(by: -arm)
    let positionSigma = fix.positionSigma + SIMD3(repeating: 0.05)
    solution?.covariance.restartPosition(variance: positionSigma * positionSigma)
    if let velocity = fix.validVelocity {
      solution?.velocity = velocity
      let velocitySigma = fix.velocitySigma + SIMD3(repeating: 0.05)
      solution?.covariance.restartVelocity(variance: velocitySigma * velocitySigma)
    } else {
      solution?.covariance.restartVelocity(variance: SIMD3(repeating: 25))
    }
    solution?.covariance.tt.rows.2.z += 0.25
  }
}
