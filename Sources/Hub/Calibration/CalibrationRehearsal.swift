/// Moves a simulated board as a calibration asks people to move a real one.
public protocol CalibrationRehearsal: Sendable {
  /// Begins the movements for a calibration. Does nothing for a real chip.
  func begin(_ kind: CalibrationKind, of chip: DeviceDescription)
  /// Ends the movements. Does nothing unless they have begun.
  func end()
}
