import Hub
import MonotonicTime
import Simulation

/// Practice of calibrations on the simulated board of a hub that runs.
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
  /// What the simulated board does as it is asked to; `nil` where the vehicle does that as it drives.
  var practice: Practice? {
    switch self {
    case .gyro: .lies
    case .accel: .tumbles
    case .mag: .turns
    case .mount: nil
    }
  }
}
