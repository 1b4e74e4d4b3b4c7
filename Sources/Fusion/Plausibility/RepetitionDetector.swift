/// Notices an inertial sensor that repeats one sample bit for bit: its chip, its FIFO or its bus is stuck.
///
/// A sensor with few digits repeats itself at rest, and a computed recording does for minutes. So a run of
/// equal samples counts only if it is many times longer than the runs before it.
public struct RepetitionDetector: Sendable {
  /// In samples, and in runs of the usual length.
  private static let leastRun = 20.0
  private static let leastRatio = 20.0
  /// A sensor whose runs are usually longer than this is not judged.
  private static let longestUsualRun = 3.0
  /// Of how many runs the usual length is the mean; and what it is before any.
  private static let memory = 50.0
  private static let unknownRun = 100.0

  private var last: (gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>)?
  private var run = 0.0
  private var usualRun = unknownRun

  public init() {}

  /// Whether the last sample was one too many.
  public var isStuck: Bool {
    usualRun <= RepetitionDetector.longestUsualRun
      && run > max(RepetitionDetector.leastRun, RepetitionDetector.leastRatio * usualRun)
  }

  /// Takes a sample; returns whether it only repeats those before.
  @inline(__always)
  public mutating func update(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>) -> Bool {
    if let last, last.gyroscope == gyroscope, last.accelerometer == accelerometer {
      run += 1
      return isStuck
    }
    // What it did while it was stuck is not its usual way.
    if run > 0, !isStuck { usualRun += (run - usualRun) / RepetitionDetector.memory }
    last = (gyroscope, accelerometer)
    run = 1
    return false
  }
}
