/// Checks an accelerometer's scale by the length of gravity.
///
/// Chips that say the same name, or a range that was not set, make an accelerometer read half or twice of
/// what it measures. At rest two seconds show it. On the move the mean length over a longer time does:
/// it is a little more than gravity's, and never half or twice of it for long.
struct GravityCheck: Sendable {
  private static let gravity = 9.80665
  private static let windowSeconds = 0.5
  /// Quiet windows in a row that decide.
  private static let neededWindows = 4
  /// Windows of any kind that decide.
  private static let longWindows = 40
  /// Standard deviation of the length within a quiet window, m/s².
  private static let quietSigma = 0.3
  /// Of gravity: what a quiet sensor may show, and a moving one.
  private static let quietShare = 0.75...1.33
  private static let movingShare = 0.6...1.6

  private var seconds = 0.0
  private var count = 0.0
  private var sum = 0.0
  private var squareSum = 0.0
  private var quiet = (count: 0, sum: 0.0)
  private var long = (count: 0, sum: 0.0)
  /// The mean length, m/s², while it is not gravity's; `nil` while it is, or is not known.
  private(set) var wrongLength: Double?

  @inline(__always)
  mutating func update(_ accelerometer: SIMD3<Double>, seconds dt: Double) {
    let deviation = accelerometer.length - GravityCheck.gravity
    sum += deviation
    squareSum += deviation * deviation
    count += 1
    seconds += dt
    if seconds >= GravityCheck.windowSeconds, count >= 5 { endWindow() }
  }

  private mutating func endWindow() {
    let mean = sum / count
    let variance = squareSum / count - mean * mean
    (seconds, count, sum, squareSum) = (0, 0, 0, 0)
    let length = mean + GravityCheck.gravity
    long = (long.count + 1, long.sum + length)
    if variance < GravityCheck.quietSigma * GravityCheck.quietSigma {
      quiet = (quiet.count + 1, quiet.sum + length)
    } else {
      quiet = (0, 0)
    }
    if quiet.count >= GravityCheck.neededWindows {
      decide(quiet.sum / Double(quiet.count), within: GravityCheck.quietShare)
      quiet = (0, 0)
      long = (0, 0)
    } else if long.count >= GravityCheck.longWindows {
      decide(long.sum / Double(long.count), within: GravityCheck.movingShare)
      long = (0, 0)
    }
  }

  private mutating func decide(_ length: Double, within shares: ClosedRange<Double>) {
    wrongLength = shares.contains(length / GravityCheck.gravity) ? nil : length
  }
}
