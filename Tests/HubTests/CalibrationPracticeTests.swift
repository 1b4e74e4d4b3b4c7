import Hub
import MonotonicTime
import Simulation
import Testing

/// Calibrations on the simulated board, which does what it is asked to.
struct CalibrationPracticeTests {
  /// - Returns: how far a calibration gets in some simulated minutes
  private func progress(_ kind: CalibrationKind, _ practice: Practice) -> Double {
    let start = MonotonicInstant(nanoseconds: 0)
    var world = World(start: start)
    world.practice = practice
    var session = CalibrationSession(kind)
    for step in 1...15_000 {
      let truth = world.truth(at: start + .milliseconds(20 * step))
      session.add(gyroscope: truth.rates, accelerometer: truth.specificForce, seconds: 0.02)
      if step % 2 == 0 { session.add(magnetometer: truth.magneticField) }
      if session.progress >= 1 { break }
    }
    return session.progress
  }

  @Test func `it lies still, tumbles and turns as each calibration asks`() {
    #expect(progress(.gyro, .lies) >= 1)
    #expect(progress(.accel, .tumbles) >= 1)
    #expect(progress(.mag, .turns) >= 1)
  }

  @Test func `a board that lies still shows one side alone`() {
    #expect(progress(.accel, .lies) < 0.5)
    #expect(progress(.mag, .lies) < 1)
  }
}
