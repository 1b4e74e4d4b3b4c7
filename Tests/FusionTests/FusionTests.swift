import Fusion
import Glibc
import MonotonicTime
import Simulation
import Testing

struct QuaternionTests {
  @Test(arguments: [(0.1, 0.2, 0.3), (-1.0, 1.2, 3.0), (0, 0, -2)])
  func `angles survive the way through a quaternion`(_ roll: Double, _ pitch: Double, _ yaw: Double) {
    let quaternion = Quaternion(roll: roll, pitch: pitch, yaw: yaw)
    #expect(abs(quaternion.roll - roll) < 1e-12)
    #expect(abs(quaternion.pitch - pitch) < 1e-12)
    #expect(abs(quaternion.yaw - yaw) < 1e-12)
  }

  @Test func `yawing a quarter turns forward to east`() {
    let east = Quaternion(roll: 0, pitch: 0, yaw: .pi / 2).rotate(SIMD3(1, 0, 0))
    #expect(abs(east.y - 1) < 1e-12)
  }

  @Test func `a rotation vector survives the way through a quaternion, however small`() {
    for vector in [SIMD3(1e-9, 0, 0), SIMD3(0.1, -0.2, 0.3), SIMD3(0, 3, 0)] {
      let back = Quaternion(rotationVector: vector).rotationVector
      let difference = back - vector
      #expect((difference * difference).sum().squareRoot() < 1e-12)
    }
  }
}

struct StateEstimatorTests {
  let start = MonotonicInstant(nanoseconds: 0)

  @Test func `follows a driving vehicle's roll, pitch and heading`() {
    let world = World(start: start)
    var estimator = StateEstimator(filter: ComplementaryFilter(), at: start)
    var worstTilt = 0.0
    var worstHeading = 0.0
    for step in 1...(60 * 200) {
      let at = start.advanced(by: .milliseconds(5 * step))
      let truth = world.truth(at: at)
      estimator.update(gyroscope: truth.rates, accelerometer: truth.specificForce, at: at, source: "imu")
      if step % 40 == 0 { feedFix(truth, at, &estimator) }
      guard step > 20 * 200, let attitude = estimator.state(at: at).attitude?.value else { continue }
      worstTilt = max(
        worstTilt, abs(attitude.quaternion.roll - truth.attitude.roll),
        abs(attitude.quaternion.pitch - truth.attitude.pitch))
      let error = attitude.quaternion.yaw - truth.attitude.yaw
      worstHeading = max(worstHeading, abs(error - (error / (2 * .pi)).rounded() * 2 * .pi))
      #expect(attitude.headingSigmaRadians != nil)
    }
    // A complementary filter on a bend: the fusion to come has to beat this.
    #expect(worstTilt < 0.2)
    #expect(worstHeading < 0.15)
  }

  @Test func `without motion the heading is unknown`() {
    var estimator = StateEstimator(filter: ComplementaryFilter(), at: start)
    for step in 1...500 {
      estimator.update(
        gyroscope: .zero, accelerometer: SIMD3(0, 0, -9.81), at: start.advanced(by: .milliseconds(5 * step)),
        source: "imu")
    }
    let state = estimator.state(at: start.advanced(by: .milliseconds(2500)))
    #expect(state.mode == .attitude)
    #expect(state.attitude?.value.headingSigmaRadians == nil)
  }

  @Test func `a stale fix is left out, and its age is told while it is not`() {
    let world = World(start: start)
    var estimator = StateEstimator(filter: ComplementaryFilter(), at: start)
    feedFix(world.truth(at: start), start, &estimator)
    let soon = estimator.state(at: start.advanced(by: .seconds(3)))
    #expect(soon.mode == .gnss)
    #expect(soon.age(of: soon.position) == .seconds(3))
    #expect(estimator.state(at: start.advanced(by: .seconds(6))).mode == .none)
  }

  @Test func `senseless measurements change nothing`() {
    var estimator = StateEstimator(filter: ComplementaryFilter(), at: start)
    for (step, value) in [Double.nan, .infinity, 0, 1e300, -9.81].enumerated() {
      estimator.update(
        gyroscope: SIMD3(value, value, value), accelerometer: SIMD3(0, 0, value),
        at: start.advanced(by: .milliseconds(5 * step)), source: "imu")
    }
    let quaternion = estimator.state(at: start.advanced(by: .milliseconds(20))).attitude?.value.quaternion
    #expect(quaternion.map { ($0.w + $0.x + $0.y + $0.z).isFinite } == true)
  }

  private func feedFix(
    _ truth: World.Truth, _ at: MonotonicInstant, _ estimator: inout StateEstimator<ComplementaryFilter>
  ) {
    let velocity = truth.velocityMetresPerSecond
    var track = atan2(velocity.y, velocity.x) * 180 / .pi
    if track < 0 { track += 360 }
    estimator.update(
      fix: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 8, hdop: 1, utcNanoseconds: nil),
      position: FusedState.Position(
        latitudeDegrees: truth.latitudeDegrees, longitudeDegrees: truth.longitudeDegrees, altitudeHAEMetres: 0,
        altitudeMSLMetres: 0, horizontalSigmaMetres: 1, verticalSigmaMetres: 2),
      motion: FusedState.Motion(
        speedMetresPerSecond: (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot(), trackDegrees: track,
        climbMetresPerSecond: 0), at: at, source: "gps")
  }
}
