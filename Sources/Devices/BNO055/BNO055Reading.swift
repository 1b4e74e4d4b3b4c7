/// One reading of a BNO055, in the chip's units.
struct BNO055Reading: Equatable {
  /// The greatest plausible difference between two successive readings of an axis. It is far above the noise, and
  /// below 128, the top bit of a low byte, so that an error in that bit or a higher one is noticed.
  private static let tolerance: Int32 = 100

  var accelerometer: SIMD3<Int16>
  var gyroscope: SIMD3<Int16>

  /// Whether the reading is invalid. A hung bus returns only zeros or ones, and a chip that does not measure returns
  /// zeros.
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
