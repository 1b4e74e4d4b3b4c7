import Hub
import MonotonicTime
import Simulation

/// Moves the simulated board of a running hub, so that calibrations can be practised.
struct SimulatedRehearsal: CalibrationRehearsal {
  let hardware: SimulatedHardware
  private let clock = MonotonicClock()

  init(_ hardware: SimulatedHardware) { self.hardware = hardware }

  func begin(_ kind: CalibrationKind, of chip: DeviceDescription) {
    guard SimulatedHardware.isSimulated(chip.path), let practice = kind.practice else { return }
    hardware.rehearsal.begin(practice, at: clock.now)
  }

  func end() { hardware.rehearsal.end(at: clock.now) }
}

extension CalibrationKind {
  /// The motion of the simulated board that this calibration needs; `nil` if the simulated vehicle already moves in
  /// that way.
  var practice: Practice? {
    switch self {
    case .gyro: .lies
    case .accel: .tumbles
    case .mag: .turns
    case .mount: nil
    }
  }
}
