/// Determines the offsets and scales of an accelerometer from six positions, with each axis once up and once down. In
/// every position the corrected measurement must have the length of gravity.
public struct AccelerometerCalibrator: Sendable {
  private static let gravity = 9.80665
  /// The share of gravity from which an axis counts as pointing up or down.
  private static let dominance = 0.8
  private static let iterations = 20
  /// The permitted mean scale. It admits a similar chip with another range, which shows half or twice gravity.
  private static let meanScale = 0.4...2.6
  /// How far the scales of the axes may differ from their mean, relative to it.
  private static let largestDifference = 0.5

  public enum Position: Int, CaseIterable, Sendable {
    case xUp, xDown, yUp, yDown, zUp, zDown
  }

  private var detector = StillnessDetector()
  /// The mean measurement of each position held until now.
  private var means: [SIMD3<Double>?] = Array(repeating: nil, count: 6)
  private var sum = SIMD3<Double>.zero
  private var count = 0.0

  public init() {}

  /// The positions that have not been measured yet.
  public var missing: [Position] { Position.allCases.filter { means[$0.rawValue] == nil } }

  /// The progress from 0 to 1.
  public var progress: Double { Double(6 - missing.count) / 6 }

  /// Adds a sample to the calibration.
  ///
  /// - Parameters:
  ///   - gyroscope: rad/s
  ///   - accelerometer: m/s²
  ///   - seconds: the time since the previous sample
  public mutating func add(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, seconds: Double) {
    guard gyroscope.isFinite, accelerometer.isFinite, seconds > 0 else { return }
    sum += accelerometer
    count += 1
    switch detector.update(
      gyroscope: gyroscope, accelerometer: accelerometer, bias: nil, seconds: seconds)
    {
    case .undecided: return
    case .moving: break
    case .still: hold(sum / count)
    }
    sum = .zero
    count = 0
  }

  private mutating func hold(_ mean: SIMD3<Double>) {
    for axis in 0..<3 where abs(mean[axis]) > AccelerometerCalibrator.dominance * mean.length {
      means[2 * axis + (mean[axis] > 0 ? 0 : 1)] = mean
    }
  }

  /// The offsets in m/s², the scales, and the root mean square deviation of the corrected lengths from gravity in
  /// m/s². `nil` while a position is missing, or if the measurements are inconsistent.
  public var result: (offset: SIMD3<Double>, scale: SIMD3<Double>, residual: Double)? {
    let held = means.compactMap { $0 }
    guard held.count == 6 else { return nil }
    var offset = SIMD3<Double>.zero
    var scale = SIMD3(1.0, 1, 1)
    // Gauss–Newton on |scale (a - offset)|² - g² = 0: six equations with six unknowns.
    for _ in 0..<AccelerometerCalibrator.iterations {
      var rows: [[Double]] = []
      var errors: [Double] = []
      for mean in held {
        let corrected = (mean - offset) * scale
        errors.append(AccelerometerCalibrator.gravity * AccelerometerCalibrator.gravity - dot(corrected, corrected))
        let byOffset = -2 * corrected * scale
        let byScale = 2 * corrected * (mean - offset)
        rows.append([byOffset.x, byOffset.y, byOffset.z, byScale.x, byScale.y, byScale.z])
      }
      guard let step = LinearSystem.leastSquares(rows, errors) else { return nil }
      offset += SIMD3(step[0], step[1], step[2])
      scale += SIMD3(step[3], step[4], step[5])
    }
    var squares = 0.0
    for mean in held {
      let error = ((mean - offset) * scale).length - AccelerometerCalibrator.gravity
      squares += error * error
    }
    let mean = (scale.x + scale.y + scale.z) / 3
    guard offset.isFinite, scale.isFinite, offset.length < 5, AccelerometerCalibrator.meanScale.contains(mean),
      (scale / mean - SIMD3(1, 1, 1)).length < AccelerometerCalibrator.largestDifference
    else { return nil }
    return (offset, scale, (squares / 6).squareRoot())
  }
}
