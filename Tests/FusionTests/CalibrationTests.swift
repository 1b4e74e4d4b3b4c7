import Glibc
import Testing

@testable import Fusion

struct CalibrationTests {
  private static let seconds = 0.01

  @Test func `the gyroscope's bias is its mean at rest, and motion restarts the calibration`() throws {
    var calibrator = GyroscopeCalibrator()
    var random = RandomNumbers(seed: 1)
    let bias = SIMD3(0.02, -0.03, 0.002)
    func rest(_ duration: Double) {
      for _ in 0..<Int(duration / CalibrationTests.seconds) {
        calibrator.add(
          gyroscope: bias + random.vector(0.01), accelerometer: SIMD3(0, 0, 9.8) + random.vector(0.03),
          seconds: CalibrationTests.seconds)
      }
    }
    rest(8)
    #expect(calibrator.progress > 0.4 && calibrator.result == nil)
    for step in 0..<100 {
      calibrator.add(
        gyroscope: SIMD3(0.5, 0, 0), accelerometer: SIMD3(sin(Double(step)), 0, 9.8), seconds: CalibrationTests.seconds)
    }
    #expect(calibrator.progress == 0)
    rest(14)
    let result = try #require(calibrator.result)
    #expect((result.bias - bias).length < 0.001)
    #expect(result.sigma.max() < 0.001)
  }

  @Test(arguments: [5, 30, 58.0])
  func `a moving sensor is distinguished from a still one, and the calibration waits at most a minute for rest`(
    _ moved: Double
  ) {
    var calibrator = GyroscopeCalibrator()
    var random = RandomNumbers(seed: 3)
    func pass(_ duration: Double, moving: Bool) {
      for step in 0..<Int(duration / CalibrationTests.seconds) {
        calibrator.add(
          gyroscope: (moving ? SIMD3(0.5, 0, 0) : .zero) + random.vector(0.01),
          accelerometer: SIMD3(moving ? sin(Double(step)) : 0, 0, 9.8) + random.vector(0.03),
          seconds: CalibrationTests.seconds)
      }
    }
    pass(moved, moving: true)
    #expect(calibrator.isMoving == (moved > 10) && !calibrator.isTooRestless && calibrator.result == nil)
    // The sensor is put down in time.
    var other = calibrator
    pass(4, moving: false)
    #expect(!calibrator.isMoving && !calibrator.isTooRestless)
    pass(12, moving: false)
    #expect(calibrator.result != nil)
    swap(&calibrator, &other)
    pass(61 - moved, moving: true)
    #expect(calibrator.isMoving && calibrator.isTooRestless && calibrator.result == nil)
  }

  /// A turn about an axis, and the resulting measurements.
  private func turn(
    _ calibrator: inout GyroscopeCalibrator, about axis: SIMD3<Double>, degreesPerSecond: Double, seconds: Double,
    hasCompass: Bool
  ) {
    let rate = degreesPerSecond * .pi / 180 * axis / axis.length
    var attitude = Quaternion.identity
    for step in 0..<Int(seconds / CalibrationTests.seconds) {
      attitude = (attitude * Quaternion(rotationVector: rate * CalibrationTests.seconds)).normalized
      if hasCompass, step % 5 == 0 { calibrator.add(magnetometer: attitude.conjugate.rotate(SIMD3(20, 0, 45))) }
      calibrator.add(
        gyroscope: rate, accelerometer: attitude.conjugate.rotate(SIMD3(0, 0, -9.80665)),
        seconds: CalibrationTests.seconds)
    }
  }

  @Test(arguments: [0.5, 1, 3, 6])
  func `a slow turn does not count as a bias`(_ degreesPerSecond: Double) {
    for (axis, hasCompass) in [
      (SIMD3(0.0, 0, 1), true), (SIMD3(0, 0, 1), false), (SIMD3(1, 0, 0), false), (SIMD3(1, 1, 1), false),
    ] {
      var calibrator = GyroscopeCalibrator()
      turn(&calibrator, about: axis, degreesPerSecond: degreesPerSecond, seconds: 90, hasCompass: hasCompass)
      #expect(calibrator.result == nil, "about \(axis), compass \(hasCompass)")
    }
  }

  @Test func `a steady turn is not taken for a bias if the magnetometer only repeats one field`() {
    var calibrator = GyroscopeCalibrator()
    for step in 0..<6000 {
      if step % 5 == 0 { calibrator.add(magnetometer: SIMD3(20, 5, 43)) }
      calibrator.add(
        gyroscope: SIMD3(0, 0, 0.05), accelerometer: SIMD3(0, 0, -9.80665), seconds: CalibrationTests.seconds)
    }
    #expect(calibrator.needsProof && calibrator.result == nil)
  }

  @Test func `a field that something nearby changes does not delay the calibration of a good gyroscope`() throws {
    var calibrator = GyroscopeCalibrator()
    var random = RandomNumbers(seed: 5)
    let bias = SIMD3(0.003, -0.004, 0.002)
    for step in 0..<1400 {
      // A current that grows near the sensor.
      let drift = 0.0015 * Double(step)
      if step % 10 == 0 { calibrator.add(magnetometer: SIMD3(20 + drift, 0, 45 - drift)) }
      calibrator.add(
        gyroscope: bias + random.vector(0.002), accelerometer: SIMD3(0, 0, -9.80665) + random.vector(0.03),
        seconds: CalibrationTests.seconds)
    }
    #expect((try #require(calibrator.result).bias - bias).length < 0.001)
  }

  @Test func `to measure a large bias about the vertical takes a compass or two minutes`() throws {
    var random = RandomNumbers(seed: 7)
    for hasCompass in [true, false] {
      var calibrator = GyroscopeCalibrator()
      for step in 0..<(hasCompass ? 1400 : 11_000) {
        if hasCompass, step % 5 == 0 { calibrator.add(magnetometer: SIMD3(20, 0, 45) + random.vector(0.1)) }
        calibrator.add(
          gyroscope: SIMD3(0, 0, 0.05), accelerometer: SIMD3(0, 0, -9.80665), seconds: CalibrationTests.seconds)
      }
      #expect(calibrator.needsProof == !hasCompass)
      #expect((calibrator.result != nil) == hasCompass)
      for _ in 0..<1500 {
        calibrator.add(
          gyroscope: SIMD3(0, 0, 0.05), accelerometer: SIMD3(0, 0, -9.80665), seconds: CalibrationTests.seconds)
      }
      #expect((try #require(calibrator.result).bias - SIMD3(0, 0, 0.05)).length < 1e-6)
    }
  }

  /// A similar chip with another range shows half or twice gravity.
  @Test(arguments: [1.0, 0.5, 2])
  func `six positions give the accelerometer's offsets and scales`(_ range: Double) throws {
    var calibrator = AccelerometerCalibrator()
    var random = RandomNumbers(seed: 2)
    let (offset, scale) = (SIMD3(0.3, -0.2, 0.15), SIMD3(1.02, 0.98, 1.01))
    for (index, position) in AccelerometerCalibrator.Position.allCases.enumerated() {
      #expect(calibrator.missing.count == 6 - index)
      var force = SIMD3<Double>.zero
      force[position.rawValue / 2] = position.rawValue % 2 == 0 ? 9.80665 : -9.80665
      // No person holds the sensor exactly straight.
      force = Quaternion(rotationVector: random.vector(0.05)).rotate(force)
      for _ in 0..<300 {
        calibrator.add(
          gyroscope: random.vector(0.002), accelerometer: range * force / scale + offset + random.vector(0.02),
          seconds: CalibrationTests.seconds)
      }
      for _ in 0..<100 {
        calibrator.add(
          gyroscope: SIMD3(1, 1, 1), accelerometer: random.vector(10), seconds: CalibrationTests.seconds)
      }
    }
    let result = try #require(calibrator.result)
    #expect((result.offset - offset).length < 0.02)
    #expect((range * result.scale - scale).length < 0.01)
    #expect(result.residual < 0.01)
  }

  @Test func `iron near the magnetometer is corrected, so that the field is a sphere around zero`() throws {
    var calibrator = MagnetometerCalibrator()
    var random = RandomNumbers(seed: 3)
    // The offset is stronger than the earth's field, as near the magnet of a loudspeaker.
    let offset = SIMD3(80.0, -35, 12)
    let iron = Matrix3(SIMD3(1.1, 0.05, 0), SIMD3(0.05, 0.95, -0.03), SIMD3(0, -0.03, 1))
    var values = InertialCalibration()
    var inside: [SIMD3<Double>] = []
    for _ in 0..<3000 {
      let direction = random.vector(1)
      inside.append(iron * (48 * direction / direction.length) + offset)
      calibrator.add(inside.last! + random.vector(0.2))
    }
    let result = try #require(calibrator.result)
    #expect((result.offset - offset).length < 0.5)
    #expect(result.residual < 0.02)
    values.magnetometerOffset = result.offset
    values.magnetometerMatrix = result.matrix
    let strengths = inside.map { values.magnetometer($0).length }
    #expect(strengths.max()! / strengths.min()! < 1.02)
  }

  @Test(arguments: [SIMD3(96.0, 0, 0), SIMD3(150, 0, 0), SIMD3(300, -200, 150)], [0, 10, 599])
  func `a single outlier neither changes nor blocks a magnetometer calibration`(_ outlier: SIMD3<Double>, _ place: Int)
    throws
  {
    var calibrator = MagnetometerCalibrator()
    var random = RandomNumbers(seed: 6)
    let offset = SIMD3(10.0, -20, 5)
    for step in 0..<600 {
      if step == place { calibrator.add(outlier + offset) }
      let direction = random.vector(1)
      calibrator.add(48 * direction / direction.length + offset + random.vector(0.3))
    }
    #expect(calibrator.progress == 1)
    let result = try #require(calibrator.result)
    #expect((result.offset - offset).length < 0.5 && abs(result.strength - 48) < 0.5)
  }

  @Test func `a flat circle does not suffice for a magnetometer calibration`() {
    var calibrator = MagnetometerCalibrator()
    var random = RandomNumbers(seed: 5)
    for step in 0..<20_000 {
      let angle = Double(step) * 0.01
      calibrator.add(SIMD3(40 * cos(angle), 40 * sin(angle), 30) + random.vector(1.5))
    }
    #expect(calibrator.progress == 1)
    #expect(calibrator.result.map { $0.residual > 0.05 } ?? true)
  }

  @Test func `standing, accelerating and braking give the sensor's mounting angles`() throws {
    let mount = Quaternion(roll: 0.3, pitch: -0.2, yaw: 2)
    var calibrator = MountCalibrator()
    var random = RandomNumbers(seed: 4)
    var (speed, time) = (0.0, 0.0)
    for step in 0..<12_000 {
      time += CalibrationTests.seconds
      let push = time < 5 ? 0 : 2 * sin(0.3 * (time - 5))
      speed += push * CalibrationTests.seconds
      let force = SIMD3(push, 0, -9.80665)
      calibrator.add(
        gyroscope: random.vector(0.005), accelerometer: mount.conjugate.rotate(force) + random.vector(0.05),
        seconds: CalibrationTests.seconds)
      if step % 25 == 0 { calibrator.add(speed: abs(speed), time: time) }
    }
    let result = try #require(calibrator.result)
    for (row, axis) in zip(result.rows, [SIMD3(1.0, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1)]) {
      #expect((row - mount.conjugate.rotate(axis)).length < 0.03)
    }
    #expect(result.quality > 0.95)
  }
}
