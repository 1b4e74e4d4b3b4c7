import Glibc
import MonotonicTime
import Testing

@testable import Fusion

/// The headings of receivers with two antennas in the navigation.
struct StatedHeadingTests {
  private static let place = GeodeticPosition(latitudeDegrees: 52, longitudeDegrees: 13, altitude: 40)

  /// Simulates a board that stands for some seconds, turning about the vertical, whose receiver states a heading each
  /// second.
  ///
  /// - Parameters:
  ///   - turn: the rate of turn in degrees per second
  ///   - stated: the heading of a second, degrees; `nil` where there is none. The closure receives the true heading
  private func stand(
    _ seconds: Int, turn: Double = 0, isVehicle: Bool = false, correlationTime: Double = 0,
    trust: GNSSMeasurement.Trust = .stated, field: SIMD3<Double>? = nil,
    stated: (_ second: Int, _ truth: Double) -> StatedHeading?
  ) -> (filter: NavigationFilter, errors: [Double]) {
    var configuration = NavigationFilter.Configuration()
    configuration.isVehicle = isVehicle
    configuration.correlationTime = correlationTime
    configuration.magneticStrength = field.map { $0.length }
    var filter = NavigationFilter(configuration)
    filter.magneticDeclination = 0
    var errors: [Double] = []
    for step in 1...seconds * 100 {
      let time = Double(step) / 100
      filter.update(
        gyroscope: SIMD3(0, 0, turn * .pi / 180), accelerometer: SIMD3(0, 0, -9.80665), magnetometer: field, time: time)
      guard step % 100 == 0 else { continue }
      let truth = turn * time
      var fix = GNSSMeasurement(
        time: time, position: StatedHeadingTests.place, positionSigma: SIMD3(1, 1, 2), velocity: .zero,
        velocitySigma: SIMD3(0.1, 0.1, 0.2))
      fix.heading = stated(step / 100, truth)
      fix.trust = trust
      filter.update(fix)
      errors.append(error(filter.attitude.yaw * 180 / .pi, truth))
    }
    return (filter, errors)
  }

  private func error(_ degrees: Double, _ truth: Double) -> Double {
    let difference = degrees - truth
    return abs(difference - (difference / 360).rounded() * 360)
  }

  private func sigmaDegrees(_ filter: NavigationFilter) -> Double? { filter.headingSigma.map { $0 * 180 / .pi } }

  @Test(arguments: [false, true]) func `a board at rest without a compass gets its heading from the first fix`(
    _ isVehicle: Bool
  ) throws {
    let without = stand(5, isVehicle: isVehicle) { _, _ in nil }
    #expect(without.filter.mode != .fused && without.filter.headingSigma == nil)
    let with = stand(5, isVehicle: isVehicle) { _, truth in StatedHeading(degrees: truth + 250, sigmaDegrees: 0.5) }
    #expect(with.filter.mode == .fused)
    #expect(error(with.filter.attitude.yaw * 180 / .pi, 250) < 0.5)
    #expect(try #require(sigmaDegrees(with.filter)) < 0.6)
  }

  @Test(arguments: [-20.0, -1, 3, 40]) func `a stated heading follows a turn on the spot`(_ turn: Double) throws {
    let (filter, errors) = stand(60, turn: turn) { second, truth in
      // The stated heading has half a degree of noise.
      StatedHeading(degrees: truth + (second % 2 == 0 ? 0.5 : -0.5), sigmaDegrees: 0.5)
    }
    #expect(errors.dropFirst(10).allSatisfy { $0 < 1.5 }, "\(errors.max() ?? 0)")
    #expect(try #require(sigmaDegrees(filter)) < 1)
  }

  @Test func `a receiver with a lasting heading error does not make the stated error too small`() throws {
    let (filter, errors) = stand(60, correlationTime: 10) { _, truth in
      StatedHeading(degrees: truth + 1.5, sigmaDegrees: 1)
    }
    let sigma = try #require(sigmaDegrees(filter))
    #expect(try #require(errors.last) < 3 * sigma, "\(errors.last ?? 0) at \(sigma)")
  }

  @Test func `a single wrong heading is refused`() {
    let (_, errors) = stand(60) { second, truth in
      StatedHeading(degrees: truth + (second == 40 ? 60 : 0), sigmaDegrees: 0.5)
    }
    #expect(errors.allSatisfy { $0 < 1 }, "\(errors.max() ?? 0)")
  }

  @Test func `headings that stay different are accepted in the end`() {
    let (_, errors) = stand(60) { second, truth in
      StatedHeading(degrees: truth + (second > 20 ? 60 : 0), sigmaDegrees: 0.5)
    }
    // The new ones are right: the board was lifted and turned while its gyroscope was saturated.
    #expect(errors[28] < 1 && abs(errors[59] - 60) < 1, "\(errors)")
  }

  @Test func `two headings that are wrong, a minute apart, are both refused`() {
    let (_, errors) = stand(90) { second, truth in
      switch second {
      case ...20: StatedHeading(degrees: truth, sigmaDegrees: 0.5)
      case 21: StatedHeading(degrees: truth + 60, sigmaDegrees: 0.5)
      case 60: StatedHeading(degrees: truth + 120, sigmaDegrees: 0.5)
      default: nil
      }
    }
    #expect(errors.allSatisfy { $0 < 1 }, "\(errors.max() ?? 0)")
  }

  @Test func `headings that contradict each other are refused, however long they come`() {
    let (_, errors) = stand(90) { second, truth in
      StatedHeading(degrees: second > 20 ? truth + 40 + Double(second * 97 % 280) : truth, sigmaDegrees: 0.5)
    }
    #expect(errors.allSatisfy { $0 < 1 }, "\(errors.max() ?? 0)")
  }

  /// Simulates a drive of two minutes: ten seconds at rest, then speeding up to 12 m/s, then bends from 25 s on.
  ///
  /// - Parameters:
  ///   - offset: the error of the stated headings, degrees
  ///   - settled: the time in seconds from which errors count
  /// - Returns: the largest error of the position in metres, and that of the heading in degrees at the end
  private func drive(_ offset: Double, isVehicle: Bool, settled: Double) throws -> (metres: Double, degrees: Double) {
    var configuration = NavigationFilter.Configuration()
    configuration.isVehicle = isVehicle
    configuration.correlationTime = 10
    var filter = NavigationFilter(configuration)
    var random = RandomNumbers(seed: 6)
    var (heading, speed, worst) = (0.0, 0.0, 0.0)
    var travelled = SIMD3<Double>.zero
    for step in 1...12_000 {
      let time = Double(step) / 100
      let turn = time > 25 ? 0.2 * sin(time / 7) : 0
      let push = time > 10 && time <= 18 ? 1.5 : 0
      speed += 0.01 * push
      heading += 0.01 * turn
      let velocity = speed * SIMD3(cos(heading), sin(heading), 0)
      travelled += 0.01 * velocity
      filter.update(
        gyroscope: SIMD3(0, 0, turn) + random.vector(0.002),
        accelerometer: SIMD3(push, speed * turn, -9.80665) + random.vector(0.03), time: time)
      guard step % 100 == 0 else { continue }
      let place = StatedHeadingTests.place.moved(by: travelled)
      var fix = GNSSMeasurement(
        time: time, position: place, positionSigma: SIMD3(1, 1, 2), velocity: velocity,
        velocitySigma: SIMD3(0.1, 0.1, 0.2))
      fix.heading = StatedHeading(degrees: heading * 180 / .pi + offset, sigmaDegrees: 0.5)
      filter.update(fix)
      guard time >= settled else { continue }
      worst = max(worst, JumpRule.horizontal(try #require(filter.position).offset(from: place)))
    }
    #expect(filter.mode == .fused)
    return (worst, error(filter.attitude.yaw * 180 / .pi, heading * 180 / .pi))
  }

  @Test(arguments: [0.0, 90, -90, 180])
  func `antennas across the vehicle mislead it only until its course shows its heading`(_ offset: Double) throws {
    let (metres, degrees) = try drive(offset, isVehicle: true, settled: 25)
    #expect(metres < 5 && degrees < 3, "\(metres) m, \(degrees) degrees")
  }

  @Test(arguments: [90.0, 180])
  func `a heading is not used any more after fixes had to be refused twice because of it`(_ offset: Double) throws {
    let (metres, degrees) = try drive(offset, isVehicle: false, settled: 60)
    #expect(metres < 10 && degrees < 5, "\(metres) m, \(degrees) degrees")
  }

  @Test func `a heading of an untrusted fix or with an invalid number is not used`() {
    let feigned = stand(5, trust: .doubted) { _, _ in StatedHeading(degrees: 90, sigmaDegrees: 0.5) }
    #expect(feigned.filter.headingSigma == nil)
    for wrong in [
      StatedHeading(degrees: .nan, sigmaDegrees: 1), StatedHeading(degrees: 90, sigmaDegrees: .nan),
      StatedHeading(degrees: 90, sigmaDegrees: 0), StatedHeading(degrees: .infinity, sigmaDegrees: 1),
    ] { #expect(stand(5) { _, _ in wrong }.filter.headingSigma == nil) }
  }

  @Test func `a stated heading has more weight than a compass that disagrees`() {
    // The magnetic field implies a heading of 30 degrees.
    let angle = 30 * Double.pi / 180
    let field = SIMD3(20 * cos(angle), -20 * sin(angle), 43)
    let (_, errors) = stand(60, field: field) { _, truth in StatedHeading(degrees: truth, sigmaDegrees: 0.5) }
    #expect(errors.dropFirst(2).allSatisfy { $0 < 1 }, "\(errors.max() ?? 0)")
  }
}
