import Fusion
import Hub
import MonotonicTime
import Simulation
import Testing

/// Calibrations on the simulated board, which moves as requested.
struct CalibrationPracticeTests {
  /// A calibration after at most five simulated minutes.
  private func session(_ kind: CalibrationKind, _ practice: Practice) -> CalibrationSession {
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
    return session
  }

  private func progress(_ kind: CalibrationKind, _ practice: Practice) -> Double { session(kind, practice).progress }

  @Test func `the simulated motion of each calibration completes that calibration`() {
    #expect(progress(.gyro, .lies) >= 1)
    #expect(progress(.accel, .tumbles) >= 1)
    #expect(progress(.mag, .turns) >= 1)
  }

  @Test func `an accelerometer's calibration names the missing positions until there are none`() {
    let first = session(.accel, .lies).instruction
    #expect(first.hasSuffix("; missing: x up, x down, y up, y down, z up"), "\(first)")
    #expect(session(.accel, .tumbles).instruction == "all six positions are measured")
  }

  @Test func `a running simulation starts the motion when asked, and then drives on from the same place`() {
    let start = MonotonicInstant(nanoseconds: 0)
    var world = World(start: start)
    let rehearsal = Rehearsal()
    world.rehearsal = rehearsal
    func truth(_ seconds: Double) -> World.Truth { world.truth(at: start + .nanoseconds(Int64(seconds * 1e9))) }
    let before = truth(20)
    #expect(truth(21).positionMetres != before.positionMetres)
    rehearsal.begin(.lies, at: start + .seconds(20))
    for second in stride(from: 20.5, to: 50, by: 0.5) {
      let truth = truth(second)
      #expect(truth.rates == .zero && truth.velocityMetresPerSecond == .zero)
      #expect(truth.positionMetres == before.positionMetres)
      #expect(abs(truth.specificForce.z + 9.80665) < 1e-6)
    }
    // The values of earlier instants do not change.
    #expect(truth(19).positionMetres != before.positionMetres)
    rehearsal.begin(.turns, at: start + .seconds(50))
    #expect(truth(51).rates != .zero && truth(51).positionMetres == before.positionMetres)
    rehearsal.end(at: start + .seconds(60))
    rehearsal.end(at: start + .seconds(70))
    #expect(truth(60).positionMetres == before.positionMetres)
    var driving = World(start: start)
    driving.rehearsal = nil
    #expect(truth(75).positionMetres == driving.truth(at: start + .seconds(35)).positionMetres)
    #expect(truth(75).attitude == driving.truth(at: start + .seconds(35)).attitude)
  }

  @Test func `a board that lies still covers only one side`() {
    #expect(progress(.accel, .lies) < 0.5)
    #expect(progress(.mag, .lies) < 1)
  }
}
