import Glibc
import Testing

@testable import Fusion

struct NavigationFilterTests {
  /// Drives with a fix each second, which `change` may modify, withhold or repeat.
  private func drive(
    _ scenario: SimulatedJourney.Scenario = .highway, seconds: Double = 40,
    _ configuration: NavigationFilter.Configuration = ConsistencyTests.configuration,
    change: (inout GNSSMeasurement, Double) -> (lateBy: Double, copies: Int) = { _, _ in (0, 1) },
    sample: (inout SIMD3<Double>, inout SIMD3<Double>, Double) -> Bool = { _, _, _ in true }
  ) -> (filter: NavigationFilter, errors: [Double], modes: [FusedState.Mode]) {
    var journey = SimulatedJourney(scenario, seed: 7, noise: ConsistencyTests.configuration.noise)
    var filter = NavigationFilter(configuration)
    filter.begin(journey.disturbedStart())
    var waiting: [(due: Double, fix: GNSSMeasurement)] = []
    var errors: [Double] = []
    var modes: [FusedState.Mode] = []
    for step in 1...Int(seconds / SimulatedJourney.interval) {
      journey.step()
      let time = journey.truth.time
      var (gyroscope, accelerometer) = (journey.gyroscope, journey.accelerometer)
      if sample(&gyroscope, &accelerometer, time) {
        filter.update(gyroscope: gyroscope, accelerometer: accelerometer, time: time)
      }
      if step % 50 == 0 {
        var fix = journey.fix()
        let (late, copies) = change(&fix, time)
        for _ in 0..<copies { waiting.append((time + late, fix)) }
      }
      for (_, fix) in waiting.filter({ $0.due <= time + 1e-9 }) { filter.update(fix) }
      waiting.removeAll { $0.due <= time + 1e-9 }
      modes.append(filter.mode)
      errors.append(filter.position.map { journey.truth.position.offset(from: $0).length } ?? .infinity)
    }
    return (filter, errors, modes)
  }

  /// A receiver at 9600 baud may need nine tenths of a second to send a fix and all its satellites.
  @Test(arguments: [0.1, 0.3, 0.9]) func `a fix that comes late gives the same estimate as one without delay`(
    _ delay: Double
  ) {
    var configuration = ConsistencyTests.configuration
    configuration.latestFix = 1.5
    let prompt = drive(.highway, seconds: 40, configuration)
    let late = drive(.highway, seconds: 40, configuration, change: { _, _ in (delay, 1) })
    // Just before a fix, both filters have received the previous one.
    let index = prompt.errors.count - 2
    #expect(abs(prompt.errors[index] - late.errors[index]) < 1e-6)
    #expect(late.errors[500...].max()! < 5)
    #expect(late.filter.refusedCount == 0)
  }

  @Test func `a fix that comes too late, or twice, is counted and ignored`() {
    let once = drive()
    let twice = drive(change: { _, _ in (0, 2) })
    #expect(twice.errors == once.errors)
    #expect(twice.filter.refusedCount == 40)
    let tooLate = drive(change: { _, time in (time > 20 ? 2 : 0, 1) })
    #expect(tooLate.filter.refusedCount > 10)
    #expect(tooLate.filter.mode == .deadReckoning)
  }

  @Test(arguments: [0.0, 10]) func `a fix that jumps is refused, whatever error the receiver states`(
    _ correlation: Double
  ) {
    var configuration = ConsistencyTests.configuration
    configuration.correlationTime = correlation
    let journey = drive(
      .highway, seconds: 40, configuration,
      change: { fix, time in
        if time > 20.5, time < 23.5 { fix.position = fix.position.moved(by: SIMD3(100, -80, 0)) }
        return (0, 1)
      })
    #expect(journey.filter.refusedCount == 3)
    #expect(journey.errors[500...].max()! < 5)
    #expect(journey.filter.mode == .fused)
  }

  @Test
  func `a lasting jump of the position is accepted after seven seconds, and so is the jump back`() {
    let journey = drive(
      seconds: 60,
      change: { fix, time in
        if time > 20, time < 35 { fix.position = fix.position.moved(by: SIMD3(400, 300, 0)) }
        return (0, 1)
      })
    #expect(journey.errors[26 * 50] < 10)
    #expect(journey.errors[33 * 50] > 400)
    #expect(journey.errors[55 * 50] < 10)
  }

  @Test func `without fixes the filter reports dead reckoning, and its sigma grows with its error`() throws {
    let journey = drive(seconds: 50, change: { _, time in (time > 20 ? 1000 : 0, 1) })
    #expect(journey.filter.mode == .deadReckoning)
    #expect(try abs(#require(journey.filter.deadReckoningSince) - 20) < 0.01)
    let sigma = try #require(journey.filter.positionSigma)
    #expect(max(sigma.x, sigma.y) > 5)
    #expect(journey.errors.last! < 4 * sigma.length)
  }

  @Test func `a gap in the samples ends navigation, which then starts again by itself`() {
    let journey = drive(
      .city, seconds: 60,
      sample: { _, _, time in time < 20 || time > 22 })
    #expect(journey.modes[22 * 50 + 5] == .gnss)
    // The heading is found again from the velocities. Until then the receiver's position is reported.
    #expect(journey.errors[25 * 50] < 20)
    #expect(journey.errors.last! < 5)
    #expect(journey.filter.mode == .fused)
  }

  @Test func `a gyroscope that is at its limit for a while causes no lasting error`() {
    let journey = drive(
      seconds: 70,
      sample: { gyroscope, _, time in
        if time > 20, time < 20.5 { gyroscope = gyroscope.clamped(to: 0.02) + SIMD3(0, 0, 0.3) }
        return true
      })
    #expect(journey.errors.last! < 8)
  }

  @Test func `any input gives finite numbers`() {
    var random = RandomNumbers(seed: 99)
    let poison: [Double] = [.nan, .infinity, -.infinity, 0, -0.0, 1e300, -1e300, 1e-300, 1e9, 5]
    var filter = NavigationFilter(ConsistencyTests.configuration)
    var time = 0.0
    func value() -> Double {
      random.uniform() < 0.3 ? poison[Int(random.uniform() * 9.99)] : random.normal() * 10
    }
    for round in 0..<20_000 {
      if round % 3000 == 0 {
        var journey = SimulatedJourney(.city, seed: 3, noise: .init())
        var start = journey.disturbedStart()
        start.time = time
        filter.begin(start)
      }
      time += random.uniform() < 0.01 ? 1e9 * random.uniform() : 0.02
      let at = random.uniform() < 0.05 ? value() : time
      filter.update(
        gyroscope: SIMD3(value(), value(), value()), accelerometer: SIMD3(value(), value(), value()),
        magnetometer: random.uniform() < 0.2 ? .zero : SIMD3(value(), value(), value()), time: at)
      if random.uniform() < 0.1 {
        filter.update(
          GNSSMeasurement(
            time: random.uniform() < 0.2 ? value() : time,
            position: GeodeticPosition(latitude: value(), longitude: value(), altitude: value()),
            positionSigma: SIMD3(value(), value(), value()), velocity: SIMD3(value(), value(), value()),
            velocitySigma: SIMD3(value(), value(), value())))
      }
      let attitude = filter.attitude
      var numbers = [attitude.w, attitude.x, attitude.y, attitude.z, filter.inclinationSigma, filter.headingSigma ?? 0]
      for vector in [filter.velocity, filter.positionSigma, filter.velocitySigma, filter.gyroscopeBias] {
        if let vector { numbers += [vector.x, vector.y, vector.z] }
      }
      if let position = filter.position { numbers += [position.latitude, position.longitude, position.altitude] }
      #expect(numbers.allSatisfy { $0.isFinite }, "round \(round): \(numbers)")
      guard numbers.allSatisfy({ $0.isFinite }) else { return }
    }
  }

  @Test func `navigation continues after the clock of the samples restarts`() {
    var journey = SimulatedJourney(.city, seed: 3, noise: ConsistencyTests.configuration.noise)
    var filter = NavigationFilter(ConsistencyTests.configuration)
    for step in 1...(60 * 50) {
      journey.step()
      // The recorder reboots after half a minute. Before that, one sample has an absurd time.
      let offset = step > 30 * 50 ? -30.0 : 0
      let time = step == 10 * 50 ? 1e9 : journey.truth.time + offset
      filter.update(gyroscope: journey.gyroscope, accelerometer: journey.accelerometer, time: time)
      var fix = journey.fix()
      fix.time += offset
      if step % 50 == 25 { filter.update(fix) }
    }
    #expect(filter.mode == .fused)
    #expect(journey.truth.position.offset(from: filter.solution!.position).length < 5)
  }

  @Test func `two fixes between two samples are both used`() {
    func run(_ both: Bool) -> SIMD3<Double> {
      var journey = SimulatedJourney(.parked, seed: 3, noise: ConsistencyTests.configuration.noise)
      var filter = NavigationFilter(ConsistencyTests.configuration)
      filter.begin(journey.disturbedStart())
      for _ in 0..<10 {
        journey.step()
        filter.update(gyroscope: journey.gyroscope, accelerometer: journey.accelerometer, time: journey.truth.time)
      }
      for part in both ? [0.015, 0.005] : [0.005] {
        var fix = journey.fix(positionSigma: 0.1)
        fix.time -= part
        fix.position = journey.truth.position
        filter.update(fix)
      }
      return filter.positionSigma!
    }
    #expect(run(true).x < 0.8 * run(false).x)
  }

  @Test func `the same journey gives the same result bit for bit`() {
    #expect(drive().errors.map(\.bitPattern) == drive().errors.map(\.bitPattern))
  }

  /// The sensor lies on the seat in any orientation, so its nose says nothing about the heading.
  @Test(arguments: [0.0, 1, -2.5]) func `the heading is found from accelerations alone`(_ mounted: Double) throws {
    var journey = SimulatedJourney(.city, seed: 11, noise: ConsistencyTests.configuration.noise)
    var filter = NavigationFilter(ConsistencyTests.configuration)
    let turn = Quaternion(rotationVector: SIMD3(0, 0, mounted))
    for step in 1...(60 * 50) {
      journey.step()
      filter.update(
        gyroscope: turn.rotate(journey.gyroscope), accelerometer: turn.rotate(journey.accelerometer),
        time: journey.truth.time)
      if step % 50 == 0 { filter.update(journey.fix()) }
    }
    #expect(filter.mode == .fused)
    let expected = (journey.truth.attitude * turn.conjugate).yaw
    let error = Quaternion(rotationVector: SIMD3(0, 0, filter.attitude.yaw - expected)).rotationVector.z
    #expect(try abs(error) < 3 * #require(filter.headingSigma))
    #expect(abs(error) < 0.1)
  }

  @Test(arguments: [SimulatedJourney.Scenario.highway, .city, .stopAndGo, .walking])
  func `a moving board soon has a right heading`(_ scenario: SimulatedJourney.Scenario) throws {
    var journey = SimulatedJourney(scenario, seed: 2, noise: ConsistencyTests.configuration.noise)
    var filter = NavigationFilter(ConsistencyTests.configuration)
    var aligned = Double.infinity
    for step in 1...(60 * 50) {
      journey.step()
      filter.update(gyroscope: journey.gyroscope, accelerometer: journey.accelerometer, time: journey.truth.time)
      if step % 50 == 0 { filter.update(journey.fix(positionSigma: 2, velocitySigma: 0.2)) }
      if filter.mode == .fused { aligned = min(aligned, journey.truth.time) }
    }
    #expect(aligned < 30)
    let solution = try #require(filter.solution)
    let error = (journey.truth.attitude * solution.attitude.conjugate).rotationVector.z
    #expect(try abs(error) < 3 * #require(filter.headingSigma))
    #expect(journey.truth.position.offset(from: solution.position).length < 4)
  }

  /// The hub starts in a bend, where the sideways force tilts the apparent vertical by forty degrees.
  @Test(arguments: [false, true])
  func `a board that starts in a bend states its error correctly, and recovers soon`(_ isVehicle: Bool) throws {
    for seed in UInt64(1)...10 {
      var configuration = ConsistencyTests.configuration
      configuration.isVehicle = isVehicle
      var journey = SimulatedJourney(.roundabout, seed: seed, noise: configuration.noise)
      var filter = NavigationFilter(configuration)
      var alignedAt = Double.infinity
      var worst = 0.0
      for step in 1...(60 * 50) {
        journey.step()
        filter.update(gyroscope: journey.gyroscope, accelerometer: journey.accelerometer, time: journey.truth.time)
        if step % 5 == 0 { filter.update(journey.fix()) }
        guard let solution = filter.solution else { continue }
        alignedAt = min(alignedAt, journey.truth.time)
        let error = (journey.truth.attitude * solution.attitude.conjugate).rotationVector
        worst = max(worst, (error.x * error.x + error.y * error.y).squareRoot() / filter.inclinationSigma)
        if journey.truth.time > alignedAt + 20 { #expect(max(abs(error.x), abs(error.y)) < 0.05) }
      }
      #expect(alignedAt < 30)
      #expect(worst < 4, "\(seed): aligned after \(alignedAt) s")
    }
  }

  @Test func `without motion the heading is reported as unknown`() {
    var journey = SimulatedJourney(.parked, seed: 5, noise: ConsistencyTests.configuration.noise)
    var filter = NavigationFilter(ConsistencyTests.configuration)
    for step in 1...(60 * 50) {
      journey.step()
      filter.update(gyroscope: journey.gyroscope, accelerometer: journey.accelerometer, time: journey.truth.time)
      if step % 50 == 0 { filter.update(journey.fix()) }
    }
    #expect(filter.mode == .gnss)
    #expect(filter.headingSigma == nil)
  }
}

/// Compares the linear model with the arithmetic that it approximates.
struct LinearizationTests {
  private typealias Row = ErrorCovariance.Row

  private var solution: NavigationSolution {
    NavigationSolution(
      time: 0, position: GeodeticPosition(latitudeDegrees: 47, longitudeDegrees: 8, altitude: 400),
      velocity: SIMD3(10, -4, 0.5), attitude: Quaternion(roll: 0.2, pitch: -0.3, yaw: 2),
      gyroscopeBias: SIMD3(0.001, -0.002, 0.003), accelerometerBias: SIMD3(0.02, 0.03, -0.01),
      covariance: ErrorCovariance(
        position: .zero, velocity: .zero, attitude: .zero, gyroscopeBias: .zero, accelerometerBias: .zero))
  }

  /// A unit error in each of the fifteen states.
  private var units: [Row] {
    (0..<15).map { index in
      var row = Row()
      let unit = SIMD3(index % 3 == 0 ? 1.0 : 0, index % 3 == 1 ? 1.0 : 0, index % 3 == 2 ? 1.0 : 0)
      switch index / 3 {
      case 0: row.p = unit
      case 1: row.v = unit
      case 2: row.t = unit
      case 3: row.g = unit
      default: row.a = unit
      }
      return row
    }
  }

  private func moved(_ solution: NavigationSolution, by error: Row) -> NavigationSolution {
    var moved = solution
    moved.position = moved.position.moved(by: error.p)
    moved.velocity += error.v
    moved.attitude = (Quaternion(rotationVector: error.t) * moved.attitude).normalized
    moved.gyroscopeBias += error.g
    moved.accelerometerBias += error.a
    return moved
  }

  private func difference(_ a: NavigationSolution, _ b: NavigationSolution) -> Row {
    Row(
      p: a.position.offset(from: b.position), v: a.velocity - b.velocity,
      t: (a.attitude * b.attitude.conjugate).rotationVector, g: a.gyroscopeBias - b.gyroscopeBias,
      a: a.accelerometerBias - b.accelerometerBias)
  }

  @Test func `an error grows as the covariance states`() {
    let (gyroscope, accelerometer) = (SIMD3(0.1, -0.2, 0.4), SIMD3(1.0, -2, -9.5))
    var quiet = NavigationFilter.Noise()
    (quiet.acceleration, quiet.rate, quiet.gyroscopeScale) = (0, 0, 0)
    (quiet.gyroscopeBiasWander, quiet.accelerometerBiasWander) = (0, 0)
    let size = 1e-5
    for unit in units {
      var before = solution
      var after = moved(solution, by: size * unit)
      // A covariance of rank one propagates like the single error that it consists of.
      func outer(_ x: SIMD3<Double>, _ y: SIMD3<Double>) -> Matrix3 { Matrix3(x.x * y, x.y * y, x.z * y) }
      before.covariance.pp = outer(unit.p, unit.p)
      before.covariance.vv = outer(unit.v, unit.v)
      before.covariance.tt = outer(unit.t, unit.t)
      before.covariance.gg = outer(unit.g, unit.g)
      before.covariance.aa = outer(unit.a, unit.a)
      before.propagate(gyroscope: gyroscope, accelerometer: accelerometer, to: 0.01, quiet)
      after.propagate(gyroscope: gyroscope, accelerometer: accelerometer, to: 0.01, quiet)
      let grown = (1 / size) * difference(after, before)
      for (expected, found) in [
        (outer(grown.p, grown.p), before.covariance.pp), (outer(grown.v, grown.v), before.covariance.vv),
        (outer(grown.t, grown.t), before.covariance.tt), (outer(grown.v, grown.t), before.covariance.vt),
        (outer(grown.p, grown.v), before.covariance.pv), (outer(grown.t, grown.g), before.covariance.tg),
        (outer(grown.v, grown.a), before.covariance.va),
      ] {
        let gap = expected - found
        for row in [gap.rows.0, gap.rows.1, gap.rows.2] { #expect(row.length < 2e-3, "\(unit)") }
      }
    }
  }

  @Test func `a measurement depends on the errors as its matrix H states`() {
    let arm = SIMD3(0.5, -0.3, 0.8)
    let rate = SIMD3(0.3, -0.1, 0.5)
    let place = solution.position.moved(by: SIMD3(3, -2, 1))
    let size = 1e-6
    for unit in units {
      let other = moved(solution, by: size * unit)
      for (a, b) in [
        (
          solution.observation(position: place, variance: .zero, leverArm: arm),
          other.observation(position: place, variance: .zero, leverArm: arm)
        ),
        (
          solution.observation(velocity: .zero, variance: .zero, leverArm: arm, gyroscope: rate),
          other.observation(velocity: .zero, variance: .zero, leverArm: arm, gyroscope: rate)
        ),
        (solution.observationOfStandstill(variance: 0), other.observationOfStandstill(variance: 0)),
      ] {
        // The expected measurement changes in the direction opposite to the innovation.
        let change = (a.innovation - b.innovation) / size
        let predicted = SIMD3(Row.dot(a.rows.0, unit), Row.dot(a.rows.1, unit), Row.dot(a.rows.2, unit))
        #expect((change - predicted).length < 1e-3, "\(unit)")
      }
      let (value, byVelocity, byAttitude) = solution.bodyVelocity
      let change = (other.bodyVelocity.value - value) / size
      #expect((change - (byVelocity * unit.v + byAttitude * unit.t)).length < 1e-3, "\(unit)")
    }
  }

  @Test func `the covariance stays symmetric and positive`() throws {
    var journey = SimulatedJourney(.city, seed: 1, noise: .init())
    var filter = NavigationFilter(ConsistencyTests.configuration)
    filter.begin(journey.disturbedStart())
    for step in 1...(10 * 60 * 50) {
      journey.step()
      filter.update(gyroscope: journey.gyroscope, accelerometer: journey.accelerometer, time: journey.truth.time)
      if step % 50 == 0 { filter.update(journey.fix()) }
      guard step % 600 == 0 else { continue }
      let covariance = try #require(filter.solution?.covariance)
      // The Cholesky decomposition exists only for positive definite matrices.
      var lower = Array(repeating: Array(repeating: 0.0, count: 15), count: 15)
      let matrix = dense(covariance)
      for i in 0..<15 {
        for j in 0...i {
          #expect(matrix[i][j] == matrix[j][i])
          let rest = matrix[i][j] - (0..<j).reduce(0) { $0 + lower[i][$1] * lower[j][$1] }
          if i == j { #expect(rest > 0, "state \(i) at \(step)") }
          lower[i][j] = i == j ? max(rest, 1e-300).squareRoot() : rest / lower[j][j]
        }
      }
    }
  }

  private func dense(_ p: ErrorCovariance) -> [[Double]] {
    let blocks = [
      [p.pp, p.pv, p.pt, p.pg, p.pa], [p.pv.transposed, p.vv, p.vt, p.vg, p.va],
      [p.pt.transposed, p.vt.transposed, p.tt, p.tg, p.ta],
      [p.pg.transposed, p.vg.transposed, p.tg.transposed, p.gg, p.ga],
      [p.pa.transposed, p.va.transposed, p.ta.transposed, p.ga.transposed, p.aa],
    ]
    return (0..<15).map { i in
      (0..<15).map { j in
        let block = blocks[i / 3][j / 3]
        let row = [block.rows.0, block.rows.1, block.rows.2][i % 3]
        return row[j % 3]
      }
    }
  }
}
