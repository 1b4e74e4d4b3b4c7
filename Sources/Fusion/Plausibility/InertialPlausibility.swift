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
  /// Why the latest sample must not be fused; `nil` if it may be.
  public private(set) var fault: InertialFault?

  public init() {}

  /// Checks a sample. Returns whether it may be fused.
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

/// Checks the scale of an accelerometer by the length of gravity.
///
/// An accelerometer reads half or double values if its range was not set, or if the chip is a similar one with the same
/// identification. At rest this is detected in two seconds. In a steady turn of an aircraft, the accelerometer is as
/// quiet as at rest but measures more than gravity, so the check uses the gyroscope to tell the turn from rest. In
/// motion the check uses the mean length over a longer time. This mean is slightly above gravity, but never half or
/// double for long, except while the sensor is shaken. The first decision about a sensor comes sooner, because nothing
/// is known about it yet: after four seconds of usual vibration, as in a vehicle.
struct GravityCheck: Sendable {
  private static let gravity = 9.80665
  private static let windowSeconds = 0.5
  /// After this number of consecutive quiet windows, the sensor is judged.
  private static let neededWindows = 4
  /// After this number of windows that are not wild, the sensor is judged even if it was never quiet.
  private static let longWindows = 40
  /// After this number of consecutive calm windows, the sensor is judged for the first time.
  private static let firstWindows = 8
  /// A window is quiet only if the standard deviation of the length is below this value, in m/s².
  private static let quietSigma = 0.3
  /// The mean rate of rotation above which a window is not quiet, in rad/s. It tells a steady turn from rest: in a turn
  /// that raises the measured length to 1.33 times gravity, a vehicle below 170 m/s rotates faster than this.
  private static let quietRate = 0.05
  /// A window is calm if the standard deviation of the length is below this share of the mean length.
  private static let calmSpread = 0.15
  /// A window is wild, and proves nothing, if the standard deviation of the length is above this share of the mean
  /// length. If a hand shakes a sensor, the mean length can be twice gravity for minutes.
  private static let wildSpread = 0.25
  /// The permitted mean length of the acceleration of a quiet sensor, relative to gravity.
  private static let quietShare = 0.75...1.33
  /// The permitted mean length of the acceleration of a moving sensor, relative to gravity.
  private static let movingShare = 0.6...1.6

  private var seconds = 0.0
  private var count = 0.0
  private var sum = 0.0
  private var squareSum = 0.0
  private var rateSum = SIMD3<Double>.zero
  private var quiet = (count: 0, sum: 0.0)
  private var calm = (count: 0, sum: 0.0)
  private var long = (count: 0, sum: 0.0)
  private var hasDecided = false
  /// The mean length in m/s² if it differs from gravity; `nil` if it matches gravity, or is unknown.
  private(set) var wrongLength: Double?

  @inline(__always)
  mutating func update(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds dt: Double) {
    let deviation = accelerometer.length - GravityCheck.gravity
    sum += deviation
    squareSum += deviation * deviation
    rateSum += gyroscope
    count += 1
    seconds += dt
    if seconds >= GravityCheck.windowSeconds, count >= 5 { endWindow() }
  }

  private mutating func endWindow() {
    let mean = sum / count
    let variance = max(0, squareSum / count - mean * mean)
    let rate = rateSum.length / count
    rateSum = .zero
    (seconds, count, sum, squareSum) = (0, 0, 0, 0)
    let length = mean + GravityCheck.gravity
    let spread = variance.squareRoot() / max(length, .leastNonzeroMagnitude)
    if spread < GravityCheck.wildSpread { long = (long.count + 1, long.sum + length) }
    calm = spread < GravityCheck.calmSpread ? (calm.count + 1, calm.sum + length) : (0, 0)
    if variance < GravityCheck.quietSigma * GravityCheck.quietSigma, rate < GravityCheck.quietRate {
      quiet = (quiet.count + 1, quiet.sum + length)
    } else {
      quiet = (0, 0)
    }
    if quiet.count >= GravityCheck.neededWindows {
      decide(quiet.sum / Double(quiet.count), within: GravityCheck.quietShare)
      quiet = (0, 0)
      long = (0, 0)
    } else if !hasDecided, calm.count >= GravityCheck.firstWindows {
      decide(calm.sum / Double(calm.count), within: GravityCheck.movingShare)
    } else if long.count >= GravityCheck.longWindows {
      decide(long.sum / Double(long.count), within: GravityCheck.movingShare)
      long = (0, 0)
    }
  }

  private mutating func decide(_ length: Double, within shares: ClosedRange<Double>) {
    hasDecided = true
    wrongLength = shares.contains(length / GravityCheck.gravity) ? nil : length
  }
}

/// Detects an inertial sensor that repeats one sample bit for bit because its chip, its FIFO or its bus is stuck.
///
/// A sensor of low resolution repeats values at rest, and a computed recording repeats them for minutes. A run of
/// equal samples therefore counts only if it is much longer than the runs before it.
public struct RepetitionDetector: Sendable {
  /// A run shows a stuck sensor only if it has at least this number of samples.
  private static let leastRun = 20.0
  /// A run shows a stuck sensor only if it is at least this many times as long as the usual run.
  private static let leastRatio = 20.0
  /// A sensor whose usual runs are longer than this number of samples is not judged.
  private static let longestUsualRun = 3.0
  /// The number of runs over which the usual length is averaged.
  private static let memory = 50.0
  /// The usual length that is assumed at first. It exceeds `longestUsualRun`, so a new sensor is not judged.
  private static let unknownRun = 100.0

  private var last: (gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>)?
  private var run = 0.0
  private var usualRun = unknownRun

  public init() {}

  /// Whether the current run is too long.
  public var isStuck: Bool {
    usualRun <= RepetitionDetector.longestUsualRun
      && run > max(RepetitionDetector.leastRun, RepetitionDetector.leastRatio * usualRun)
  }

  /// Checks a sample. Returns whether the sensor is stuck.
  @inline(__always)
  public mutating func update(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>) -> Bool {
    if let last, last.gyroscope == gyroscope, last.accelerometer == accelerometer {
      run += 1
      return isStuck
    }
    // Runs while the sensor was stuck do not count as usual.
    if run > 0, !isStuck { usualRun += (run - usualRun) / RepetitionDetector.memory }
    last = (gyroscope, accelerometer)
    run = 1
    return false
  }
}
