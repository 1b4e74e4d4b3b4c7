import Hub
import MonotonicTime
import Simulation

/// Practice of calibrations on the simulated board of a running hub.
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
  /// The requested motion of the simulated board; `nil` if the vehicle moves like that anyway.
  var practice: Practice? {
    switch self {
    case .gyro: .lies
    case .accel: .tumbles
    case .mag: .turns
    case .mount: nil
    }
  }
}
