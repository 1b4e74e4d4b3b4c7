import Glibc
import MonotonicTime

/// The motion detector of an accelerometer: compares the high-pass filtered specific force with a threshold.
struct SimulatedWakeUp: Sendable {
  struct Setting: Equatable, Sendable {
    var rateHz: Double
    /// The threshold as a multiple of gravity.
    var threshold: Double
    /// The corner frequency of the high-pass filter in hertz; `nil` to use half the difference of two samples instead.
    var cornerHz: Double?
  }

  private let setting: Setting
  private var noise = Noise(seed: 1)
  /// The time of the next sample.
  private var nextAt: MonotonicInstant
  /// The output of the low-pass filter that is subtracted, in multiples of gravity, or the previous sample if there
  /// is no filter. `nil` before the first sample.
  private var mean: SIMD3<Double>?
  /// Whether the threshold was exceeded and the host has not read the status since.
  private(set) var hasMoved = false

  private var period: Duration { .nanoseconds(Int64(1e9 / setting.rateHz)) }

  init(_ setting: Setting, at now: MonotonicInstant) {
    self.setting = setting
    nextAt = now
  }

  func isSet(_ setting: Setting) -> Bool { setting == self.setting }

  /// Records that the host has read the status. Detection continues from `now`, and skips samples since the motion.
  mutating func forget(at now: MonotonicInstant) {
    guard hasMoved else { return }
    hasMoved = false
    nextAt = max(nextAt, now)
    mean = nil
  }

  /// Processes the samples up to `now`, or up to the first one that exceeds the threshold. Returns when the next
  /// sample is due.
  mutating func take(_ world: World, until now: MonotonicInstant) -> MonotonicInstant {
    while nextAt <= now, !hasMoved { take(world) }
    return nextAt
  }

  private mutating func take(_ world: World) {
    let truth = world.truth(at: nextAt)
    let force = truth.specificForce * (1 / 9.80665)
    // While the vehicle is parked, the filter settles and its noise stays far below the threshold, so the samples until
    // the end of the parking are skipped.
    if mean != nil, let end = world.parkedUntil(at: nextAt), nextAt + .seconds(20) < end {
      mean = force
      nextAt = end
      return
    }
    nextAt = nextAt + period
    let sample = force + noise.vector(0.0018 * truth.noiseScale)
    guard let mean else {
      mean = sample
      return
    }
    let high = (sample - mean) * (setting.cornerHz == nil ? 0.5 : 1)
    hasMoved = max(abs(high.x), abs(high.y), abs(high.z)) > setting.threshold
    let share = setting.cornerHz.map { 1 - exp(-2 * .pi * $0 / setting.rateHz) } ?? 1
    self.mean = mean + (sample - mean) * share
  }
}
