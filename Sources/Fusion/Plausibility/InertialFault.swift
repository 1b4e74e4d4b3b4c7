/// Why the samples of an inertial sensor are not fused.
public enum InertialFault: Equatable, Sendable {
  /// The sensor repeats one sample bit for bit.
  case repeats
  /// The mean length of the accelerometer's values, in m/s², differs from gravity.
  case wrongGravity(length: Double)
}

extension InertialFault: CustomStringConvertible {
  /// The message for the owner of the board.
  public var description: String {
    switch self {
    case .repeats: return "it repeats one identical sample: it is stuck, and not fused"
    case .wrongGravity(let length):
      let tenths = Int((length * 10).rounded())
      let (found, share) = ("\(tenths / 10).\(tenths % 10)", length / 9.80665)
      let cause =
        share < 1
        ? "a similar chip with a wider range shows half of gravity, for example an LSM6DSO32 that is read as an LSM6DSO"
        : "a chip with a narrower range shows twice gravity"
      return "its accelerometer shows \(found) m/s² of gravity instead of 9.8, and is not fused; \(cause): "
        + "check the chip's marking, or calibrate with 'sensorhub calibrate accel'"
    }
  }
}

/// Decides whether the samples of an inertial sensor are plausible.
public struct InertialPlausibility: Sendable {
  private var repetition = RepetitionDetector()
  private var gravity = GravityCheck()
  /// Why the latest sample may not be fused; `nil` if it may.
  public private(set) var fault: InertialFault?

  public init() {}

  /// Takes a sample. Returns whether it may be fused.
  ///
  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: specific force, m/s²
  ///   - seconds: the time since the previous sample
  @inline(__always)
  public mutating func admits(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds: Double) -> Bool {
    if repetition.update(gyroscope: gyroscope, accelerometer: accelerometer) {
      fault = .repeats
      return false
    }
    gravity.update(gyroscope: gyroscope, accelerometer: accelerometer, seconds: seconds)
    fault = gravity.wrongLength.map { .wrongGravity(length: $0) }
    return fault == nil
  }
}
