/// What one look at a BNO055 brings, in its units.
struct BNO055Reading: Equatable {
  /// How far two readings of one motion are apart at most, far above the noise: the top bit of a low byte is more.
  private static let tolerance: Int32 = 100

  var accelerometer: SIMD3<Int16>
  var gyroscope: SIMD3<Int16>

  /// A bus that hangs says nothing but zeros or ones, and a chip that does not measure nothing but zeros.
  var isEmpty: Bool {
    accelerometer == gyroscope && (gyroscope == .zero || gyroscope == SIMD3(repeating: -1))
  }

  func isClose(to other: BNO055Reading) -> Bool {
    BNO055Reading.areClose(accelerometer, other.accelerometer) && BNO055Reading.areClose(gyroscope, other.gyroscope)
  }

  private static func areClose(_ a: SIMD3<Int16>, _ b: SIMD3<Int16>) -> Bool {
    let difference = SIMD3<Int32>(truncatingIfNeeded: a) &- SIMD3<Int32>(truncatingIfNeeded: b)
    return difference.max() <= tolerance && difference.min() >= -tolerance
  }
}
