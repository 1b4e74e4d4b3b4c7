import Devices
import MonotonicTime

/// Decides whether the board stands still, by an inertial sensor that either waits for motion or gives samples.
///
/// While the sensor changes from one to the other, it observes nothing. A board that stood still counts as still through
/// a short change, unless the sensor shows motion afterwards. Otherwise each client that reads a sample would cause a
/// new fix. If the change takes long, or the thread that uses the sensor fails or hangs, stillness is unknown.
///
/// The lock, the clock and the timer belong to `StillnessMonitor`. Each method returns the state if it has changed.
struct StillnessMachine: Sendable {
  /// The longest time in which the sensor may observe nothing. A change takes about 300 ms on a board that is not busy.
  static let longestChange = Duration.seconds(2)

  private var state = MotionState.unknown
  private var samples = MotionDetector()
  /// When the sensor stopped observing a board that stood still; `nil` while it observes, or if the board did not stand
  /// still.
  private var unobservedSince: MonotonicInstant?

  /// When stillness ends if the sensor observes nothing until then.
  var deadline: MonotonicInstant? { unobservedSince.map { $0 + StillnessMachine.longestChange } }

  /// Takes a report of the sensor that waits for motion.
  mutating func take(_ report: MotionState, at now: MonotonicInstant) -> MotionState? { observe(report, at: now) }

  /// Takes samples of the sensor while its reader works.
  mutating func take(_ batch: borrowing IMUBatch) -> MotionState? {
    guard batch.count > 0 else { return nil }
    return observe(samples.take(batch), at: batch[batch.count - 1].at)
  }

  /// Records that the sensor changes from waiting to samples, or back. It was able to observe until now, or until its
  /// last sample.
  mutating func changesOver(at now: MonotonicInstant) -> MotionState? {
    guard case .still = state else { return end() }
    unobservedSince = samples.lastAt ?? unobservedSince ?? now
    samples = MotionDetector()
    return nil
  }

  /// Discards the earlier reports and samples, for example because a thread failed or hangs. Motion is then unknown.
  mutating func end() -> MotionState? {
    (samples, unobservedSince) = (MotionDetector(), nil)
    return change(to: .unknown)
  }

  /// Ends stillness if its deadline has passed.
  mutating func look(at now: MonotonicInstant) -> MotionState? {
    guard let deadline, deadline <= now else { return nil }
    return end()
  }

  /// - Parameter report: `nil` if the sensor observes the board and has nothing new to report
  private mutating func observe(_ report: MotionState?, at instant: MonotonicInstant) -> MotionState? {
    let isLate = deadline.map { $0 < instant } ?? false
    unobservedSince = nil
    if isLate { return change(to: report ?? .unknown) }
    guard let report else { return nil }
    // Keep the earlier state, because the board has been still for longer than the sensor knows in its present mode.
    if case (.still, .still) = (state, report) { return nil }
    return change(to: report)
  }

  private mutating func change(to new: MotionState) -> MotionState? {
    guard new != state else { return nil }
    state = new
    return new
  }
}
