import Fusion

/// The orientation of a board, from its gyroscope and accelerometer alone.
struct Tilt {
  private var filter = OrientationFilter(interval: 0.01)

  /// Processes one sample of a hundred a second, in body axes: forward, right, down.
  ///
  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: specific force, m/s²; a board that lies flat measures (0, 0, -9.8)
  mutating func update(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>) {
    filter.update(gyroscope: gyroscope, accelerometer: accelerometer, seconds: 0.01)
  }

  /// Roll and pitch in degrees; `nil` before the first sample.
  var degrees: (roll: Double, pitch: Double)? {
    guard filter.isLevelled else { return nil }
    let attitude = filter.attitude
    return (attitude.roll * 180 / .pi, attitude.pitch * 180 / .pi)
  }
}
