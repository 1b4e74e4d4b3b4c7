import Fusion

/// A hub's store of the calibrations of its chips.
public protocol CalibrationStore: Sendable {
  /// Adds the result of a calibration to a chip's calibration. Waits for the disk.
  func store(_ session: CalibrationSession, of chip: DeviceDescription) throws(CalibrationRefusal) -> StoredCalibration
  /// Replaces an offset with its refinement. Refuses if another offset has been stored since. Waits for the disk.
  func store(_ refined: MagneticOffsetRefiner.Result, of chip: DeviceDescription) throws(CalibrationRefusal)
    -> StoredCalibration
}

/// Where the result of a calibration was stored, and its quality.
public struct StoredCalibration: Equatable, Sendable {
  public var file: String
  /// The quality; see `ChipCalibration.Entry`.
  public var quality: Double

  public init(file: String, quality: Double) {
    self.file = file
    self.quality = quality
  }
}
