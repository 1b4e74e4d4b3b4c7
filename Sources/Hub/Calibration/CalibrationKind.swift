/// The kinds of calibration.
public enum CalibrationKind: String, CaseIterable, Equatable, Sendable {
  /// The gyroscope's bias, at rest.
  case gyro
  /// The accelerometer's offsets and scales, in six positions.
  case accel
  /// What iron near the magnetometer does.
  case mag
  /// How the sensor sits in the vehicle.
  case mount
}
