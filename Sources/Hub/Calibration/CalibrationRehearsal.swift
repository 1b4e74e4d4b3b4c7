/// Moves a simulated board as a calibration asks people to move a real one.
public protocol CalibrationRehearsal: Sendable {
  /// Does nothing for a chip that is real.
  func begin(_ kind: CalibrationKind, of chip: DeviceDescription)
  /// Does nothing unless one has begun.
  func end()
}
