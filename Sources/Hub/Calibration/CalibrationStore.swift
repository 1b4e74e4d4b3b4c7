import Fusion

/// A hub's store of the calibrations of its chips.
public protocol CalibrationStore: Sendable {
  /// Adds the result of a calibration to a chip's calibration. Waits for the disk.
  func store(_ session: CalibrationSession, of chip: DeviceDescription) throws(CalibrationRefusal) -> StoredCalibration
  /// Puts a refined offset in the place of the one that it refines; refuses it if another one has been stored since. Waits for the
  /// disk.
  func store(_ refined: MagneticOffsetRefiner.Result, of chip: DeviceDescription) throws(CalibrationRefusal)
    -> StoredCalibration
}

/// The outcome of a calibration.
public struct StoredCalibration: Equatable, Sendable {
  public var file: String
  /// As `ChipCalibration.Entry` has it.
  public var quality: Double

  public init(file: String, quality: Double) {
    self.file = file
    self.quality = quality
  }
}
