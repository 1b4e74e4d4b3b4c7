/// The kinds of calibration.
public enum CalibrationKind: String, CaseIterable, Equatable, Sendable {
  /// The gyroscope's bias, at rest.
  case gyro
  /// The accelerometer's offsets and scales, in six positions.
  case accel
  /// The magnetometer's error from iron nearby.
  case mag
  /// The sensor's orientation in the vehicle.
  case mount
}
