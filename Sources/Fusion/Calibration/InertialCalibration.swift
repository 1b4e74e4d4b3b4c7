/// What is known of one chip's errors, and how to take them out of its measurements.
public struct InertialCalibration: Equatable, Sendable {
  /// rad/s
  public var gyroscopeBias = SIMD3<Double>.zero
  /// m/s²
  public var accelerometerOffset = SIMD3<Double>.zero
  /// Factors, about one.
  public var accelerometerScale = SIMD3(1.0, 1, 1)
  /// Microtesla: the field of what is fixed to the sensor.
  public var magnetometerOffset = SIMD3<Double>.zero
  /// Makes a sphere of the ellipsoid that iron near by makes of the field; rows.
  public var magnetometerMatrix = [SIMD3(1.0, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1)]
  /// How strong the earth's field is then, where it was calibrated, microtesla; `nil` for what is not calibrated.
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
