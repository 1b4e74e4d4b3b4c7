import Glibc
import MonotonicTime
import Testing

@testable import Fusion

/// Implausible samples.
struct PlausibilityTests {
  private let start = MonotonicInstant(nanoseconds: 0)

  private func at(_ seconds: Double) -> MonotonicInstant { start.advanced(by: .nanoseconds(Int64(seconds * 1e9))) }

  private func pressure(_ height: Double) -> Double { 101_325 * pow(1 - 2.25577e-5 * height, 5.25588) }

  private func air(_ pascals: Double) -> FusedState.Air {
    FusedState.Air(pressurePascals: pascals, temperatureCelsius: 18, humidityPercent: nil)
  }

  /// A minute at 20 Hz with a receiver at 1 Hz, followed by `pressures`.
  private func height(
    after pressures: [Double], truth: Double, then rest: Double = 2
  ) throws -> (estimator: StateEstimator, worst: Double) {
    var estimator = StateEstimator()
    func fix(_ time: Double, _ metres: Double) {
      estimator.update(
        fix: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 9, hdop: 1, utcNanoseconds: nil),
        position: FusedState.Position(
          latitudeDegrees: 47, longitudeDegrees: 8, altitudeHAEMetres: metres, altitudeMSLMetres: nil,
          horizontalSigmaMetres: 2, verticalSigmaMetres: 4), motion: nil, at: at(time))
    }
    for tick in 0..<1200 {
      let time = Double(tick) / 20
      estimator.update(air: air(pressure(50)), at: at(time))
      if tick % 20 == 0 { fix(time, 97) }
    }
    var worst = 0.0
    let sequence = pressures + Array(repeating: pressure(truth), count: Int(rest * 20))
    for (index, pascals) in sequence.enumerated() {
      let time = 60 + Double(index) / 20
      estimator.update(air: air(pascals), at: at(time))
      if index % 20 == 0 { fix(time, 97) }
      let position = try #require(estimator.state(at: at(time)).position?.value)
      let sigma = try #require(position.verticalSigmaMetres)
      let error = abs(try #require(position.altitudeHAEMetres) - 97)
      worst = max(worst, error / sigma)
    }
    return (estimator, worst)
  }

  @Test(arguments: [1, 2])
  func `one or two wrong pressures change the height by less than three sigma`(_ count: Int) throws {
    let wrong = Array(repeating: 79_500.0, count: count)
    let (_, worst) = try height(after: wrong + Array(repeating: pressure(50), count: 20) + wrong, truth: 50)
    #expect(worst < 3)
  }

  @Test func `the height follows a lift that climbs 20 m within a second`() throws {
    let climb = (0..<20).map { pressure(50 + Double($0)) }
    var (estimator, _) = try height(after: climb, truth: 70)
    let found = try #require(estimator.state(at: at(63)).position?.value.altitudeHAEMetres)
    #expect(abs(found - 117) < 1.5)
    #expect(!estimator.hasWrongPressure)
  }

  @Test func `a barometer that measures half of the air's pressure is reported and not fused`() throws {
    var estimator = StateEstimator()
    for second in 0..<30 {
      estimator.update(air: air(pressure(50) / 2), at: at(Double(second)))
      estimator.update(
        fix: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 9, hdop: 1, utcNanoseconds: nil),
        position: FusedState.Position(
          latitudeDegrees: 47, longitudeDegrees: 8, altitudeHAEMetres: 97, altitudeMSLMetres: nil,
          horizontalSigmaMetres: 2, verticalSigmaMetres: 4), motion: nil, at: at(Double(second)))
    }
    #expect(estimator.hasWrongPressure)
    #expect(estimator.state(at: at(29.5)).position?.source == .gps)
    // The barometer is also refused without a receiver.
    var alone = StateEstimator()
    alone.update(air: air(pressure(50) / 2), at: at(0))
    #expect(alone.hasWrongPressure)
    alone = StateEstimator()
    alone.update(air: air(pressure(3600)), at: at(0))
    #expect(!alone.hasWrongPressure)
  }

  @Test(arguments: [1, 2])
  func `a magnetometer's samples at full scale do not turn the heading`(_ count: Int) {
    for isFirstSecond in [true, false] {
      var filter = OrientationFilter(interval: 0.01, magneticStrength: 49.2)
      let attitude = Quaternion(roll: 0.1, pitch: -0.2, yaw: 1)
      let field = attitude.conjugate.rotate(SIMD3(20, 0, 45))
      for step in 0..<3000 {
        let position = step - (isFirstSecond ? 20 : 2000)
        filter.update(
          gyroscope: .zero, accelerometer: attitude.conjugate.rotate(SIMD3(0, 0, -9.80665)),
          magnetometer: (0..<count).contains(position) ? SIMD3(479, -479, 479) : field, seconds: 0.01)
        if position >= 0 {
          #expect(abs(filter.attitude.yaw - 1) < 0.01, "\(step)")
          #expect(position > 300 || !filter.isMagneticallyDisturbed)
        }
      }
      #expect(filter.hardIronMicrotesla == .zero)
    }
  }

  /// Drives a circle at 15 m/s and 0.15 rad/s with a fix each second. `force` modifies the accelerometer's values.
  private func drive(
    seconds: Double, isStuck: (Double) -> Bool = { _ in false }, force: (SIMD3<Double>) -> SIMD3<Double> = { $0 },
    look: (Double, inout StateEstimator, SIMD3<Double>) throws -> Void
  ) rethrows {
    var configuration = NavigationFilter.Configuration()
    configuration.isVehicle = true
    var estimator = StateEstimator(configuration)
    var random = RandomNumbers(seed: 3)
    let (speed, rate) = (15.0, 0.15)
    let home = GeodeticPosition(latitudeDegrees: 47, longitudeDegrees: 8, altitude: 400)
    var last = (gyroscope: SIMD3<Double>.zero, accelerometer: SIMD3<Double>.zero)
    for step in 1...Int(seconds * 100) {
      let time = Double(step) / 100
      // Alternating left and right bends.
      let isLeft = Int(time / 20) % 2 == 0
      let turn = isLeft ? -rate : rate
      if !isStuck(time) {
        last.gyroscope = SIMD3(0, 0, turn) + random.vector(0.002)
        last.accelerometer = force(SIMD3(0, speed * turn, -9.80665) + random.vector(0.05))
      }
      estimator.update(gyroscope: last.gyroscope, accelerometer: last.accelerometer, at: at(time))
      let heading = course(time, rate)
      let place = position(time, speed, rate)
      if step % 100 == 0 {
        let here = home.moved(by: place)
        estimator.update(
          fix: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 9, hdop: 1, utcNanoseconds: nil),
          position: FusedState.Position(
            latitudeDegrees: here.latitudeDegrees, longitudeDegrees: here.longitudeDegrees, altitudeHAEMetres: 400,
            altitudeMSLMetres: nil, horizontalSigmaMetres: 1, verticalSigmaMetres: 2),
          motion: FusedState.Motion(
            speedMetresPerSecond: speed, trackDegrees: heading * 180 / .pi, climbMetresPerSecond: 0,
            horizontalSigmaMetresPerSecond: 0.1, verticalSigmaMetresPerSecond: 0.1), at: at(time))
      }
      try look(time, &estimator, place)
    }
  }

  /// The course in radians from north, and the position in metres north, east, on a road that bends left for 20 s,
  /// right for 20 s, and so on.
  private func course(_ time: Double, _ rate: Double) -> Double {
    let phase = time.truncatingRemainder(dividingBy: 40)
    return phase < 20 ? -rate * phase : -rate * (40 - phase)
  }

  private func position(_ time: Double, _ speed: Double, _ rate: Double) -> SIMD3<Double> {
    var place = SIMD3<Double>.zero
    for step in 0..<Int(time * 10) {
      let middle = course((Double(step) + 0.5) / 10, rate)
      place += 0.1 * speed * SIMD3(cos(middle), sin(middle), 0)
    }
    return place
  }

  @Test func `an IMU that repeats its values in a bend is noticed and not fused`() throws {
    var noticed: Double?
    drive(seconds: 75, isStuck: { $0 > 62 && $0 <= 67 }) { time, estimator, _ in
      if estimator.inertialFault == .repeats { noticed = noticed ?? time }
      guard time > 63, time <= 67 else { return }
      #expect(estimator.inertialFault == .repeats)
      let state = estimator.state(at: at(time))
      // The rates are those of the receiver or the last known ones. The filter does not continue a turn that has ended.
      #expect((state.rates?.at ?? start) < at(62.5))
      if time > 64.5 { #expect(state.mode == .gnss) }
    }
    #expect(try #require(noticed) < 62.5)
  }

  @Test(arguments: [0.5, 2])
  func `an accelerometer with a wrong scale is reported and not fused`(_ scale: Double) throws {
    // The first sensor is at rest, and the second one moves without a stop.
    var still = StateEstimator()
    var random = RandomNumbers(seed: 8)
    for step in 1...400 {
      still.update(
        gyroscope: random.vector(0.002), accelerometer: scale * SIMD3(0, 0, -9.80665) + random.vector(0.02),
        at: at(Double(step) / 100))
    }
    let fault = try #require(still.inertialFault)
    #expect("\(fault)".contains(scale < 1 ? "4.9 m/s²" : "19.6 m/s²"))
    #expect(still.state(at: at(4)).attitude == nil)
    drive(seconds: 60, force: { scale * $0 }) { time, estimator, _ in
      if time > 25 { #expect(estimator.inertialFault != nil && estimator.state(at: at(time)).mode == .gnss) }
    }
  }

  @Test func `a steady bend of an aircraft, with a force above gravity, is fused`() {
    var filter = NavigationFilter()
    var random = RandomNumbers(seed: 4)
    // Level flight, then 45 degrees of bank at 40 m/s.
    for step in 1...6000 {
      let bank = step > 3000 ? 45 * Double.pi / 180 : 0
      let turn = 9.80665 * tan(bank) / 40
      filter.update(
        gyroscope: SIMD3(0, turn * sin(bank), turn * cos(bank)) + random.vector(0.002),
        accelerometer: SIMD3(0, 0, -9.80665 / cos(bank)) + random.vector(0.03), time: Double(step) / 100)
      #expect(filter.inertialFault == nil, "\(step)")
      if filter.inertialFault != nil { break }
    }
  }

  @Test(arguments: [0.5, 2])
  func `a wrong scale is noticed within five seconds of the start in a vehicle that vibrates`(_ scale: Double) {
    var random = RandomNumbers(seed: 4)
    drive(seconds: 30, force: { scale * ($0 + random.vector(0.6)) }) { time, estimator, _ in
      if time > 5 { #expect(estimator.inertialFault != nil && estimator.state(at: at(time)).mode == .gnss) }
    }
    // With the right scale, the same vibration does not make the sensor implausible.
    drive(seconds: 30, force: { $0 + random.vector(0.6) }) { _, estimator, _ in
      #expect(estimator.inertialFault == nil)
    }
  }

  @Test func `a steep turn later on is not a wrong scale`() {
    var check = GravityCheck()
    var random = RandomNumbers(seed: 12)
    for step in 0..<3000 {
      // Ten seconds with a bank of 60 degrees, with the vibration of an engine.
      let share = (1000..<2000).contains(step) ? 2.0 : 1
      check.update(
        gyroscope: .zero, accelerometer: SIMD3(0, 0, -share * 9.80665) + random.vector(0.6), seconds: 0.01)
      #expect(check.wrongLength == nil)
    }
  }

  @Test func `a sensor that is shaken for a minute is not a wrong scale`() {
    var check = GravityCheck()
    var (sum, count) = (0.0, 0.0)
    for step in 0..<9000 {
      let time = Double(step) / 100
      let push = (1000..<7000).contains(step) ? 40 * sin(2 * .pi * 2.5 * time) : 0
      let force = SIMD3(push, 0.3 * push, -9.80665)
      if push != 0 { (sum, count) = (sum + force.length, count + 1) }
      check.update(gyroscope: .zero, accelerometer: force, seconds: 0.01)
      #expect(check.wrongLength == nil)
    }
    // The mean is above the limit for a moving sensor.
    #expect(sum / count > 1.6 * 9.80665)
  }

  /// The state of a filter that drives north at 15 m/s with a fix each second until 60 s.
  private func filter(after seconds: Double, isStuck: (Double) -> Bool, scale: Double = 1) -> NavigationFilter {
    var configuration = NavigationFilter.Configuration()
    configuration.isVehicle = true
    var filter = NavigationFilter(configuration)
    var random = RandomNumbers(seed: 6)
    let home = GeodeticPosition(latitudeDegrees: 47, longitudeDegrees: 8, altitude: 400)
    var last = (gyroscope: SIMD3<Double>.zero, accelerometer: SIMD3<Double>.zero)
    for step in 1...Int(seconds * 100) {
      let time = Double(step) / 100
      if !isStuck(time) {
        last = (random.vector(0.002), scale * (SIMD3(0, 0, -9.80665) + random.vector(0.05)))
      }
      filter.update(gyroscope: last.gyroscope, accelerometer: last.accelerometer, time: time)
      guard step % 100 == 0, time <= 60 else { continue }
      filter.update(
        GNSSMeasurement(
          time: time, position: home.moved(by: SIMD3(15 * time, 0, 0)), positionSigma: SIMD3(1, 1, 2),
          velocity: SIMD3(15, 0, 0), velocitySigma: SIMD3(repeating: 0.1)))
    }
    return filter
  }

  @Test func `while samples are not fused, the position becomes old`() throws {
    // The sensor repeats its values from 60 s on. From then on the board drives 15 m further from the last solution
    // each second.
    let stuck = filter(after: 62, isStuck: { $0 > 60 })
    #expect(stuck.inertialFault == .repeats)
    #expect(try #require(stuck.positionSigma).x > 25)
    // The scale is wrong, so there is only the receiver's position.
    let receiver = filter(after: 62, isStuck: { _ in false }, scale: 0.5)
    #expect(receiver.inertialFault != nil && receiver.mode == .gnss)
    #expect(try #require(receiver.positionSigma).x > 30)
    let lost = filter(after: 66, isStuck: { _ in false }, scale: 0.5)
    #expect(lost.mode == .none && lost.position == nil && lost.positionSigma == nil)
  }

  @Test func `a computed recording whose values repeat from the start is fused`() {
    var filter = NavigationFilter()
    for step in 0..<3000 {
      filter.update(
        gyroscope: step < 1500 ? .zero : SIMD3(0, 0, 0.1), accelerometer: SIMD3(0, 0, -9.80665),
        time: Double(step) / 100)
      #expect(filter.inertialFault == nil)
    }
  }
}
