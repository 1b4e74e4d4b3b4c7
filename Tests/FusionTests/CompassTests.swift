import Fusion
import MonotonicTime
import Simulation
import Testing

/// A compass and a barometer in addition to the receiver and the IMU.
struct CompassTests {
  private let start = MonotonicInstant(nanoseconds: 0)

  private var world: World {
    var world = World(start: start)
    world.turntable = World.Turntable(rollRadians: 0.1, pitchRadians: -0.2, yawRadians: 2)
    return world
  }

  private var configuration: NavigationFilter.Configuration {
    var configuration = NavigationFilter.Configuration()
    configuration.interval = 0.01
    configuration.magneticInterval = 0.05
    configuration.magneticStrength = 49.6
    return configuration
  }

  /// - Parameter hasField: whether a magnetic field is available at a time
  private func run(
    _ estimator: inout StateEstimator, _ seconds: Range<Int>, hasField: (Double) -> Bool, strength: Double = 1
  ) -> FusedState {
    let world = world
    for step in seconds.lowerBound * 100 + 1...seconds.upperBound * 100 {
      let at = start.advanced(by: .milliseconds(10 * step))
      let truth = world.truth(at: at)
      if step % 5 == 0, hasField(Double(step) / 100) {
        estimator.update(magneticField: truth.magneticField * strength, at: at)
      }
      estimator.update(gyroscope: truth.rates, accelerometer: truth.specificForce, at: at)
    }
    return estimator.state(at: start.advanced(by: .seconds(seconds.upperBound)))
  }

  @Test func `after the compass falls silent, the heading's error grows`() throws {
    var estimator = StateEstimator(configuration)
    estimator.magneticDeclination = 0.0826
    let before = try #require(run(&estimator, 0..<20) { _ in true }.attitude?.value)
    let sigma = try #require(before.headingSigmaRadians)
    #expect(sigma < 0.055 && abs(before.quaternion.yaw - 2) < 0.01)
    let after = try #require(run(&estimator, 20..<140) { _ in false }.attitude?.value.headingSigmaRadians)
    #expect(after > 4 * sigma)
    // The heading is as certain as before once the compass is back.
    let back = try #require(run(&estimator, 140..<160) { _ in true }.attitude?.value.headingSigmaRadians)
    #expect(back < 0.055)
  }

  @Test func `without a declination, an attitude says that its heading counts from magnetic north`() throws {
    var estimator = StateEstimator(configuration)
    let magnetic = try #require(run(&estimator, 0..<20) { _ in true }.attitude?.value)
    #expect(magnetic.north == .magnetic && abs(magnetic.quaternion.yaw - (2 - 0.0826)) < 0.01)
    estimator.magneticDeclination = 0.0826
    let geographic = try #require(run(&estimator, 20..<21) { _ in true }.attitude?.value)
    #expect(geographic.north == .geographic(declinationRadians: 0.0826) && abs(geographic.quaternion.yaw - 2) < 0.01)
  }

  @Test func `a magnetic field that differs from the earth's is not trusted`() throws {
    var estimator = StateEstimator(configuration)
    estimator.magneticDeclination = 0.0826
    let state = run(&estimator, 0..<20, hasField: { _ in true }, strength: 2)
    #expect(try #require(state.attitude?.value.headingSigmaRadians) > 0.2)
  }

  @Test func `if the horizontal field is weak, the compass heading and its declination have larger errors`() throws {
    func sigma(_ field: SIMD3<Double>) throws -> Double {
      var configuration = configuration
      configuration.magneticStrength = (field * field).sum().squareRoot()
      var estimator = StateEstimator(configuration)
      estimator.magneticDeclination = 0.1
      for step in 1...1000 {
        let at = start.advanced(by: .milliseconds(10 * step))
        if step % 5 == 0 { estimator.update(magneticField: field, at: at) }
        estimator.update(gyroscope: .zero, accelerometer: SIMD3(0, 0, -9.80665), at: at)
      }
      let attitude = estimator.state(at: start.advanced(by: .seconds(10))).attitude
      return try #require(attitude?.value.headingSigmaRadians)
    }
    // The fields are those in Europe, and in the north of Greenland, where the model itself is off by two degrees.
    let (usual, weak) = (try sigma(SIMD3(20, 0, 45)), try sigma(SIMD3(3, 0, 55)))
    #expect(usual > 0.05 && usual < 0.055)
    #expect(weak > 0.3)
  }

  @Test func `the barometer's height is the board's, not that of an antenna far above`() throws {
    for hasIMU in [true, false] {
      var estimator = StateEstimator(configuration)
      var world = self.world
      world.turntable = World.Turntable(rollRadians: 0, pitchRadians: 0, yawRadians: 2)
      for step in 1...3000 {
        let at = start.advanced(by: .milliseconds(10 * step))
        let truth = world.truth(at: at)
        if hasIMU { estimator.update(gyroscope: truth.rates, accelerometer: truth.specificForce, at: at) }
        if step % 20 == 0 {
          estimator.update(
            air: FusedState.Air(
              pressurePascals: truth.pressurePascals, temperatureCelsius: 18, humidityPercent: nil), at: at)
        }
        guard step % 100 == 0 else { continue }
        estimator.update(
          fix: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 8, hdop: 1, utcNanoseconds: nil),
          position: FusedState.Position(
            latitudeDegrees: truth.latitudeDegrees, longitudeDegrees: truth.longitudeDegrees,
            altitudeHAEMetres: truth.altitudeHAEMetres + 30, altitudeMSLMetres: nil, horizontalSigmaMetres: 1,
            verticalSigmaMetres: 2), motion: nil, at: at, leverArm: SIMD3(0, 0, -30))
      }
      let position = try #require(estimator.state(at: start.advanced(by: .seconds(30))).position)
      #expect(abs(try #require(position.value.altitudeHAEMetres) - world.altitudeHAEMetres) < 1)
      #expect(position.source.contains(.baro))
    }
  }
}
