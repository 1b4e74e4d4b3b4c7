import Fusion
import Glibc
import MonotonicTime
import Simulation
import Testing

struct StateEstimatorTests {
  let start = MonotonicInstant(nanoseconds: 0)
  var configuration: NavigationFilter.Configuration {
    var configuration = NavigationFilter.Configuration()
    configuration.interval = 0.005
    configuration.isVehicle = true
    return configuration
  }

  @Test func `the estimator follows a driving vehicle's roll, pitch and heading`() throws {
    let world = World(start: start)
    var estimator = StateEstimator(configuration)
    var worstTilt = 0.0
    var worstHeading = 0.0
    for step in 1...(60 * 200) {
      let at = start.advanced(by: .milliseconds(5 * step))
      let truth = world.truth(at: at)
      estimator.update(gyroscope: truth.rates, accelerometer: truth.specificForce, at: at)
      if step % 40 == 0 { feedFix(truth, at, &estimator) }
      guard step > 20 * 200 else { continue }
      let attitude = try #require(estimator.state(at: at).attitude).value
      worstTilt = max(
        worstTilt, abs(attitude.quaternion.roll - truth.attitude.roll),
        abs(attitude.quaternion.pitch - truth.attitude.pitch))
      let error = attitude.quaternion.yaw - truth.attitude.yaw
      worstHeading = max(worstHeading, abs(error - (error / (2 * .pi)).rounded() * 2 * .pi))
      #expect(attitude.headingSigmaRadians != nil)
    }
    #expect(worstTilt < 0.02)
    #expect(worstHeading < 0.02)
  }

  @Test func `without motion the heading is unknown`() {
    var estimator = StateEstimator(configuration)
    for step in 1...500 {
      estimator.update(
        gyroscope: .zero, accelerometer: SIMD3(0, 0, -9.81), at: start.advanced(by: .milliseconds(5 * step)))
    }
    let state = estimator.state(at: start.advanced(by: .milliseconds(2500)))
    #expect(state.mode == .attitude)
    #expect(state.attitude?.value.headingSigmaRadians == nil)
  }

  @Test func `a state contains the age of its fix, and leaves out a fix that is too old`() {
    let world = World(start: start)
    var estimator = StateEstimator(configuration)
    feedFix(world.truth(at: start), start, &estimator)
    let soon = estimator.state(at: start.advanced(by: .seconds(3)))
    #expect(soon.mode == .gnss)
    #expect(soon.age(of: soon.position) == .seconds(3))
    #expect(estimator.state(at: start.advanced(by: .seconds(6))).mode == .none)
  }

  @Test func `a speed that is not measured any more is left out, although positions go on`() {
    let world = World(start: start)
    var estimator = StateEstimator(configuration)
    feedFix(world.truth(at: start), start, &estimator)
    #expect(estimator.state(at: start.advanced(by: .seconds(1))).motion != nil)
    for second in 1...20 {
      feedFix(world.truth(at: start), start.advanced(by: .seconds(second)), &estimator, hasMotion: false)
    }
    let state = estimator.state(at: start.advanced(by: .seconds(20)))
    #expect(state.mode == .gnss && state.position != nil && state.motion == nil)
  }

  /// The height of a receiver that knows it to this sigma, after ten minutes with a barometer.
  @Test(arguments: [(0.02, false), (4, true)])
  func `the more certain height is reported, the barometer's or the receiver's`(
    _ sigma: Double, _ isOfBarometer: Bool
  ) throws {
    var estimator = StateEstimator(configuration)
    for second in 0..<600 {
      let at = start.advanced(by: .seconds(second))
      // The weather changes the pressure by half a hectopascal.
      let pressure = 100_000 + 50 * sin(Double(second) / 200)
      estimator.update(
        air: FusedState.Air(pressurePascals: pressure, temperatureCelsius: 20, humidityPercent: nil), at: at)
      estimator.update(
        fix: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 8, hdop: 1, utcNanoseconds: nil),
        position: FusedState.Position(
          latitudeDegrees: 52, longitudeDegrees: 13, altitudeHAEMetres: 120, altitudeMSLMetres: 80,
          horizontalSigmaMetres: sigma, verticalSigmaMetres: sigma), motion: nil, at: at)
    }
    let position = try #require(estimator.state(at: start.advanced(by: .seconds(599))).position).value
    #expect((position.altitudeHAEMetres == 120) != isOfBarometer)
    #expect(try #require(position.verticalSigmaMetres) <= sigma)
  }

  /// How long the position of a receiver without an inertial sensor remains valid.
  ///
  /// - Parameters:
  ///   - interval: the time between epochs, seconds
  ///   - bridge: the number of epochs without a position that do not count as a loss; one more does
  @Test(arguments: [(interval: 1.0, bridge: 1), (0.1, 15), (5, 1), (10, 1)])
  func `a short gap between positions keeps the last one, and a longer loss removes it`(
    interval: Double, bridge: Int
  ) {
    let world = World(start: start)
    var estimator = StateEstimator(configuration)
    var at = start
    for _ in 1...4 {
      at = at.advanced(by: .seconds(interval))
      feedFix(world.truth(at: at), at, &estimator)
    }
    func state(after seconds: Double) -> FusedState.Mode {
      estimator.state(at: at.advanced(by: .seconds(seconds))).mode
    }
    // Until the end of its interval, the next fix is not late.
    #expect(state(after: interval) == .gnss)
    for epoch in 1...bridge + 1 {
      at = at.advanced(by: .seconds(interval))
      estimator.update(
        fix: FusedState.FixQuality(mode: 1, status: 0, satellitesUsed: 0, hdop: nil, utcNanoseconds: nil),
        position: nil, motion: nil, at: at)
      #expect(state(after: 0) == (epoch <= bridge ? .gnss : .none), "\(epoch)")
    }
  }

  /// Rests for eight seconds, with fixes in the first four.
  private func rest(_ estimator: inout StateEstimator) {
    for step in 1...800 {
      let at = start.advanced(by: .milliseconds(10 * step))
      estimator.update(gyroscope: .zero, accelerometer: SIMD3(0, 0, -9.80665), at: at)
      guard step % 100 == 0, step <= 400 else { continue }
      estimator.update(
        fix: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 9, hdop: 1, utcNanoseconds: nil),
        position: FusedState.Position(
          latitudeDegrees: 52, longitudeDegrees: 13, altitudeHAEMetres: 40, altitudeMSLMetres: nil,
          horizontalSigmaMetres: 2, verticalSigmaMetres: 4), motion: nil, at: at,
        heading: StatedHeading(degrees: 30, sigmaDegrees: 1))
    }
  }

  @Test func `a first measurement that is centuries old does not end a dead reckoning`() {
    var estimator = StateEstimator()
    estimator.update(
      air: FusedState.Air(pressurePascals: 101_325, temperatureCelsius: 20, humidityPercent: nil),
      at: MonotonicInstant(nanoseconds: .min + 1))
    rest(&estimator)
    let state = estimator.state(at: start.advanced(by: .seconds(8)))
    #expect(state.mode == .deadReckoning && state.deadReckoningSince != nil)
  }

  @Test func `a dead reckoning ends with the inertial samples`() {
    var estimator = StateEstimator()
    rest(&estimator)
    let last = estimator.state(at: start.advanced(by: .seconds(8)))
    #expect(last.mode == .deadReckoning && last.deadReckoningSince != nil)
    // Only the barometer measures now.
    let later = estimator.state(at: start.advanced(by: .seconds(12)))
    #expect(later.mode == .none && later.deadReckoningSince == nil)
  }

  @Test func `rare bursts of inertial samples lose no magnetic field`() throws {
    let yaws = try [5, 50].map { burst -> Double in
      var configuration = NavigationFilter.Configuration()
      configuration.magneticInterval = 0.0125
      var estimator = StateEstimator(configuration)
      var fieldCount = 0
      for end in stride(from: burst, through: 5200, by: burst) {
        // The fields of a burst come before its samples.
        while 0.0125 * Double(fieldCount + 1) <= 0.01 * Double(end) {
          fieldCount += 1
          // After 30 s, the field shows that the board has turned by 30 degrees.
          let angle = fieldCount < 2400 ? 0 : Double.pi / 6
          estimator.update(
            magneticField: SIMD3(20 * cos(angle), -20 * sin(angle), 45),
            at: start.advanced(by: .microseconds(12_500 * fieldCount)))
        }
        for sample in (end - burst + 1)...end {
          estimator.update(
            gyroscope: .zero, accelerometer: SIMD3(0, 0, -9.80665), at: start.advanced(by: .milliseconds(10 * sample)))
        }
      }
      return try #require(estimator.state(at: start.advanced(by: .seconds(52))).attitude).value.quaternion.yaw
    }
    #expect(yaws[0] > 0.2 && abs(yaws[0] - yaws[1]) < 0.02, "\(yaws)")
  }

  @Test func `impossible measurements change nothing`() {
    var estimator = StateEstimator(configuration)
    for (step, value) in [Double.nan, .infinity, 0, 1e300, -9.81].enumerated() {
      estimator.update(
        gyroscope: SIMD3(value, value, value), accelerometer: SIMD3(0, 0, value),
        at: start.advanced(by: .milliseconds(5 * step)))
    }
    let quaternion = estimator.state(at: start.advanced(by: .milliseconds(20))).attitude?.value.quaternion
    #expect(quaternion.map { ($0.w + $0.x + $0.y + $0.z).isFinite } == true)
  }

  private func feedFix(
    _ truth: World.Truth, _ at: MonotonicInstant, _ estimator: inout StateEstimator, hasMotion: Bool = true
  ) {
    let velocity = truth.velocityMetresPerSecond
    var track = atan2(velocity.y, velocity.x) * 180 / .pi
    if track < 0 { track += 360 }
    estimator.update(
      fix: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 8, hdop: 1, utcNanoseconds: nil),
      position: FusedState.Position(
        latitudeDegrees: truth.latitudeDegrees, longitudeDegrees: truth.longitudeDegrees, altitudeHAEMetres: 0,
        altitudeMSLMetres: 0, horizontalSigmaMetres: 1, verticalSigmaMetres: 2),
      motion: hasMotion
        ? FusedState.Motion(
          speedMetresPerSecond: (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot(), trackDegrees: track,
          climbMetresPerSecond: 0) : nil, at: at)
  }
}
