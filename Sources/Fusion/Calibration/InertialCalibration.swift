/// The known errors of one chip, and how to correct its measurements.
public struct InertialCalibration: Equatable, Sendable {
  /// The gyroscope bias in rad/s.
  public var gyroscopeBias = SIMD3<Double>.zero
  /// The accelerometer's offset in m/s².
  public var accelerometerOffset = SIMD3<Double>.zero
  /// The accelerometer's scale factors, close to one.
  public var accelerometerScale = SIMD3(1.0, 1, 1)
  /// The hard-iron field in microtesla.
  public var magnetometerOffset = SIMD3<Double>.zero
  /// The matrix, by rows, that maps the ellipsoid distorted by soft iron to a sphere.
  public var magnetometerMatrix = [SIMD3(1.0, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1)]
  /// The strength of the corrected field at the place of calibration in microtesla; `nil` without a calibration.
  public var magnetometerStrength: Double?

  public init() {}

  @inline(__always)
  public func gyroscope(_ measured: SIMD3<Double>) -> SIMD3<Double> { measured - gyroscopeBias }

  @inline(__always)
  public func accelerometer(_ measured: SIMD3<Double>) -> SIMD3<Double> {
    (measured - accelerometerOffset) * accelerometerScale
  }

  public func magnetometer(_ measured: SIMD3<Double>) -> SIMD3<Double> {
    let free = measured - magnetometerOffset
    return SIMD3(
      dot(magnetometerMatrix[0], free), dot(magnetometerMatrix[1], free), dot(magnetometerMatrix[2], free))
  }
}
