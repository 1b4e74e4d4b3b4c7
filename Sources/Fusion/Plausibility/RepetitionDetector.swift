/// Detects an inertial sensor that repeats one sample bit for bit because its chip, its FIFO or its bus is stuck.
///
/// A sensor of low resolution repeats values at rest, and a computed recording repeats them for minutes. A run of
/// equal samples therefore counts only if it is much longer than the runs before it.
public struct RepetitionDetector: Sendable {
  /// The minimum length of a run that shows a stuck sensor: in samples, and relative to the usual run.
  private static let leastRun = 20.0
  private static let leastRatio = 20.0
  /// A sensor whose usual runs are longer than this number of samples is not judged.
  private static let longestUsualRun = 3.0
  /// The number of runs over which the usual length is averaged, and its value before the first run.
  private static let memory = 50.0
  private static let unknownRun = 100.0

  private var last: (gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>)?
  private var run = 0.0
  private var usualRun = unknownRun

  public init() {}

  /// Whether the present run is too long.
  public var isStuck: Bool {
    usualRun <= RepetitionDetector.longestUsualRun
      && run > max(RepetitionDetector.leastRun, RepetitionDetector.leastRatio * usualRun)
  }

  /// Takes a sample. Returns whether the sensor is stuck.
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
