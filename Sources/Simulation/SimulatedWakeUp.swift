import Glibc
import MonotonicTime

/// The part of an accelerometer that waits for motion: what is left of the specific force above a frequency, against a threshold.
struct SimulatedWakeUp: Sendable {
  struct Setting: Equatable, Sendable {
    var rateHz: Double
    /// Of gravity.
    var threshold: Double
    /// Where the high pass begins, Hz; `nil` for half the difference of two samples.
    var cornerHz: Double?
  }

  private let setting: Setting
  private var noise = Noise(seed: 1)
  /// The next sample's.
  private var nextAt: MonotonicInstant
  /// What the high pass takes off, gravities; the sample before, where there is none. `nil` before the first sample.
  private var mean: SIMD3<Double>?
  /// It has been beyond the threshold, and nobody has asked since.
  private(set) var hasMoved = false

  private var period: Duration { .nanoseconds(Int64(1e9 / setting.rateHz)) }

  init(_ setting: Setting, at now: MonotonicInstant) {
    self.setting = setting
    nextAt = now
  }

  func isSet(_ setting: Setting) -> Bool { setting == self.setting }

  /// Somebody has asked: what came after it had moved is not looked at again.
  mutating func forget(at now: MonotonicInstant) {
    guard hasMoved else { return }
    hasMoved = false
    nextAt = max(nextAt, now)
    mean = nil
  }

  /// Takes the samples up to now, or to the first that is beyond the threshold; returns when the next one of interest is.
  mutating func take(_ world: World, until now: MonotonicInstant) -> MonotonicInstant {
    while nextAt <= now, !hasMoved { take(world) }
    return nextAt
  }

  private mutating func take(_ world: World) {
    let truth = world.truth(at: nextAt)
    let force = truth.specificForce * (1 / 9.80665)
    // While nothing stirs the filter settles, and its noise is far from the threshold.
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
