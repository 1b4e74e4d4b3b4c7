import Glibc
import Testing

@testable import Fusion

struct OrientationFilterTests {
  private static let interval = 0.005
  private static let northAndDown = SIMD3(20.0, 0, 43)

  /// A sensor rotated by hand, with the measurements of its three sensors.
  private struct Tumbling {
    var attitude = Quaternion.identity
    var time = 0.0

    mutating func step(interval: Double, bias: SIMD3<Double> = .zero) -> (
      gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, magnetometer: SIMD3<Double>
    ) {
      time += interval
      let rate = SIMD3(1.2 * sin(0.9 * time), 1.5 * sin(0.7 * time + 1), cos(0.5 * time))
      attitude = (attitude * Quaternion(rotationVector: rate * interval)).normalized
      let shaking = SIMD3(sin(9 * time), cos(7 * time), sin(11 * time))
      let back = attitude.conjugate
      return (
        rate + bias, back.rotate(SIMD3(0, 0, -9.81) + shaking), back.rotate(OrientationFilterTests.northAndDown)
      )
    }
  }

  /// The angle between two attitudes in degrees.
  private func angle(_ a: Quaternion, _ b: Quaternion) -> Double {
    (a * b.conjugate).rotationVector.length * 180 / .pi
  }

  /// A level board in a right bend with this acceleration.
  @Test(arguments: [0.0, 1, 3, 5, 8])
  func `in a bend the roll's error agrees with its sigma, and at rest the roll is right`(_ acceleration: Double) {
    var filter = OrientationFilter(interval: OrientationFilterTests.interval)
    #expect(filter.inclinationSigma == .pi)
    for index in 0..<1000 {
      // A moving vehicle always vibrates more than one that stands still.
      let shaking = acceleration > 0 ? 0.3 * sin(Double(index)) : 0
      filter.update(
        gyroscope: SIMD3(shaking, 0, 0), accelerometer: SIMD3(shaking, acceleration, -9.80665),
        seconds: OrientationFilterTests.interval)
    }
    let error = abs(filter.attitude.roll)
    #expect(abs(error - atan2(acceleration, 9.80665)) < 0.05)
    // A scale error may explain two percent of the force, which could hide a tilt of a tenth of a radian.
    #expect(error < 2 * filter.inclinationSigma + 0.1 && filter.inclinationSigma < error + 0.03)
    if acceleration == 0 { #expect(filter.inclinationSigma < 0.03) }
  }

  @Test func `a sensor at rest is levelled at once, and its gyroscope's bias is learned in seconds`() {
    var filter = OrientationFilter(interval: OrientationFilterTests.interval)
    let attitude = Quaternion(roll: 0.4, pitch: -0.2, yaw: 0)
    // The bias of a cold sensor can be three degrees per second.
    let bias = SIMD3(0.02, -0.05, 0.03)
    for _ in 0..<2000 {
      filter.update(
        gyroscope: bias, accelerometer: attitude.conjugate.rotate(SIMD3(0, 0, -9.81)),
        seconds: OrientationFilterTests.interval)
    }
    #expect(abs(filter.attitude.roll - 0.4) < 0.01)
    #expect(abs(filter.attitude.pitch + 0.2) < 0.01)
    #expect((filter.gyroscopeBias - bias).length < 0.002)
    #expect(filter.isAtRest)
    #expect(!filter.hasHeading)
  }

  @Test(arguments: [2.0, 50, 200, 1000])
  func `a tumbling sensor is tracked at any rate`(_ hertz: Double) {
    let interval = 1 / hertz
    var filter = OrientationFilter(interval: interval)
    var sensor = Tumbling()
    for _ in 0..<Int(60 * hertz) {
      let sample = sensor.step(interval: interval, bias: SIMD3(0.005, -0.004, 0.003))
      filter.update(
        gyroscope: sample.gyroscope, accelerometer: sample.accelerometer, magnetometer: sample.magnetometer,
        seconds: interval)
    }
    // At two samples a second, shaking cannot be distinguished from a tilt.
    #expect(angle(filter.attitude, sensor.attitude) < (hertz < 10 ? 6 : 1.5))
  }

  @Test func `the field of a magnet fixed to the sensor is found and subtracted`() {
    var filter = OrientationFilter(interval: OrientationFilterTests.interval)
    var sensor = Tumbling()
    let magnet = SIMD3(12.0, -20, 15)
    for _ in 0..<(60 * 200) {
      let sample = sensor.step(interval: OrientationFilterTests.interval)
      filter.update(
        gyroscope: sample.gyroscope, accelerometer: sample.accelerometer, magnetometer: sample.magnetometer + magnet,
        seconds: OrientationFilterTests.interval)
    }
    #expect((filter.hardIronMicrotesla - magnet).length < 1)
    #expect(angle(filter.attitude, sensor.attitude) < 3)
  }

  @Test(arguments: [0.0, 0.01, 0.03], [false, true])
  func `a magnetometer's delay is learned from quick turns`(_ delay: Double, _ hasHardIron: Bool) {
    let interval = OrientationFilterTests.interval
    var filter = OrientationFilter(interval: interval)
    var attitude = Quaternion.identity
    let magnet = hasHardIron ? SIMD3(12.0, -20, 15) : .zero
    var fields: [SIMD3<Double>] = []
    for step in 0..<(60 * 200) {
      let time = Double(step) * interval
      let rate = SIMD3(3 * sin(5 * time), 4 * sin(4 * time + 1), 3 * cos(6 * time))
      attitude = (attitude * Quaternion(rotationVector: rate * interval)).normalized
      fields.append(attitude.conjugate.rotate(OrientationFilterTests.northAndDown))
      let late = fields[max(0, step - Int((delay / interval).rounded()))]
      filter.update(
        gyroscope: rate, accelerometer: attitude.conjugate.rotate(SIMD3(0, 0, -9.81)), magnetometer: late + magnet,
        seconds: interval)
    }
    #expect(abs(filter.magneticDelaySeconds - delay) < 0.1 * delay + 0.001)
    #expect((filter.hardIronMicrotesla - magnet).length < 1.5)
    #expect(angle(filter.attitude, attitude) < 1.5)
  }

  @Test func `a measured force applies to the middle of its interval`() {
    let interval = 0.01
    var filter = OrientationFilter(interval: interval)
    var attitude = Quaternion.identity
    // A quick roll at a constant rate, and a sensor that measures means.
    let half = Quaternion(rotationVector: SIMD3(3 * interval, 0, 0))
    for _ in 0..<3000 {
      let middle = attitude * half
      attitude = middle * half
      filter.update(
        gyroscope: SIMD3(6, 0, 0), accelerometer: middle.conjugate.rotate(SIMD3(0, 0, -9.81)), seconds: interval)
    }
    #expect(angle(filter.attitude, attitude) < 0.1)
  }

  @Test func `a magnet in the surroundings does not turn the heading`() {
    var filter = OrientationFilter(interval: OrientationFilterTests.interval)
    var sensor = Tumbling()
    for step in 0..<(60 * 200) {
      let sample = sensor.step(interval: OrientationFilterTests.interval)
      // The sensor is near the magnet from 30 to 40 seconds.
      let isNear = step > 30 * 200 && step < 40 * 200
      let disturbance = sensor.attitude.conjugate.rotate(isNear ? SIMD3(-10.0, 30, 20) : .zero)
      filter.update(
        gyroscope: sample.gyroscope, accelerometer: sample.accelerometer,
        magnetometer: sample.magnetometer + disturbance, seconds: OrientationFilterTests.interval)
      if isNear, step % 200 == 0 { #expect(angle(filter.attitude, sensor.attitude) < 3) }
      if isNear, step > 33 * 200 { #expect(filter.isMagneticallyDisturbed) }
    }
    #expect(filter.hardIronMicrotesla == .zero)
  }

  @Test func `a pause in the samples loses only the heading`() {
    var filter = OrientationFilter(interval: OrientationFilterTests.interval)
    var sensor = Tumbling()
    for step in 0..<(40 * 200) {
      let sample = sensor.step(interval: OrientationFilterTests.interval)
      filter.update(
        gyroscope: sample.gyroscope, accelerometer: sample.accelerometer, magnetometer: sample.magnetometer,
        seconds: step == 20 * 200 ? 1e9 : OrientationFilterTests.interval)
    }
    #expect(angle(filter.attitude, sensor.attitude) < 3)
  }

  @Test func `any input gives finite numbers`() {
    var random = RandomNumbers(seed: 4)
    let poison: [Double] = [.nan, .infinity, -.infinity, 0, -0.0, 1e300, -1e300, 1e-300, 1e9, .leastNonzeroMagnitude]
    func value() -> Double { random.uniform() < 0.3 ? poison[Int(random.uniform() * 9.99)] : random.normal() * 10 }
    for interval in [0.005, 2, 1.25e-4, .nan, -1, 0, .infinity] {
      var filter = OrientationFilter(interval: interval)
      for _ in 0..<3000 {
        filter.update(
          gyroscope: SIMD3(value(), value(), value()), accelerometer: SIMD3(value(), value(), value()),
          magnetometer: random.uniform() < 0.3 ? .zero : SIMD3(value(), value(), value()),
          seconds: random.uniform() < 0.3 ? value() : 0.005)
        let q = filter.attitude
        let bias = filter.gyroscopeBias
        let numbers = [q.w, q.x, q.y, q.z, bias.x, bias.y, bias.z]
        #expect(numbers.allSatisfy { $0.isFinite })
        #expect(abs(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z - 1) < 1e-9)
      }
    }
  }

  @Test func `a sensor that takes over in a bend keeps the inclination`() {
    var filter = OrientationFilter(interval: 0.01)
    for _ in 0..<2000 { filter.update(gyroscope: .zero, accelerometer: SIMD3(0, 0, -9.81), seconds: 0.01) }
    filter.changeSensor(interval: 0.005)
    // A sideways push that looks like a tilt of eleven degrees.
    for _ in 0..<10 { filter.update(gyroscope: .zero, accelerometer: SIMD3(0, 2, -9.81), seconds: 0.005) }
    #expect(abs(filter.attitude.roll) < 0.02 && filter.isLevelled)
  }

  @Test func `a sensor that takes over keeps the time over which accelerations average out`() {
    func roll(afterPushOf seconds: Double, timeConstant: Double) -> Double {
      var filter = OrientationFilter(interval: 0.01, accelerometerTimeConstant: timeConstant)
      for _ in 0..<2000 { filter.update(gyroscope: .zero, accelerometer: SIMD3(0, 0, -9.81), seconds: 0.01) }
      filter.changeSensor(interval: 0.01)
      let count = Int(seconds / 0.01)
      for _ in 0..<count { filter.update(gyroscope: .zero, accelerometer: SIMD3(0, 2, -9.81), seconds: 0.01) }
      return abs(filter.attitude.roll)
    }
    #expect(roll(afterPushOf: 3, timeConstant: 30) < roll(afterPushOf: 3, timeConstant: 3) / 4)
  }
}
