import Devices
import MonotonicTime

/// Detects motion by the samples of an inertial sensor that other clients keep awake. It uses the criterion of
/// a chip that wakes on motion: the difference between the specific force and its average over the last second.
struct MotionDetector: Sendable {
  /// The least difference that counts as motion: 15 mg, in m/s².
  private static let limit: Float = 0.15
  private static let timeConstantSeconds = 1.2
  /// The required duration without motion.
  private static let quiet = Duration.seconds(3)
  /// If samples are further apart, motion is unknown.
  private static let longestGap = Duration.seconds(1)

  private var mean = SIMD3<Float>.zero
  /// The instant of the last sample.
  private(set) var lastAt: MonotonicInstant?
  private var quietSince = MonotonicInstant(nanoseconds: 0)
  /// Whether the board is still; `nil` until there are enough samples.
  private var isStill: Bool?

  /// - Returns: the state of motion, if it has changed
  mutating func take(_ batch: borrowing IMUBatch) -> MotionState? {
    guard batch.count > 0 else { return nil }
    var sum = SIMD3<Float>.zero
    for index in 0..<batch.count { sum += batch[index].accelerometer }
    let force = sum / Float(batch.count)
    let at = batch[batch.count - 1].at
    let lastAt = self.lastAt
    self.lastAt = at
    guard let before = lastAt, at - before < MotionDetector.longestGap else {
      // The board may have moved since the last report.
      (mean, quietSince, isStill) = (force, at, nil)
      return lastAt == nil ? nil : .unknown
    }
    let deviation = force - mean
    mean += deviation * Float(min(1, at.seconds(since: before) / MotionDetector.timeConstantSeconds))
    if max(abs(deviation.x), abs(deviation.y), abs(deviation.z)) > MotionDetector.limit {
      quietSince = at
      return change(isStill: false, at)
    }
    return at - quietSince >= MotionDetector.quiet ? change(isStill: true, quietSince) : nil
  }

  private mutating func change(isStill: Bool, _ at: MonotonicInstant) -> MotionState? {
    guard self.isStill != isStill else { return nil }
    self.isStill = isStill
    return isStill ? .still(since: at) : .moved(at: at)
  }
}

/// The present knowledge about motion of the board.
public enum MotionState: Equatable, Sendable {
  /// Motion is unknown.
  case unknown
  /// The board has not moved since this instant.
  case still(since: MonotonicInstant)
  /// The board moved at this instant, and may still be moving.
  case moved(at: MonotonicInstant)
}
